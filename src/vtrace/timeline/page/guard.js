// SPDX-License-Identifier: BSD-3-Clause
// Keeps what the user interface asks of other servers from being asked: statistics, scripts, trace processors.
'use strict';
(function () {
  const own = (address) => {
    try {
      const url = new URL(address, location.href);
      return url.origin === location.origin || url.protocol === 'blob:' || url.protocol === 'data:';
    } catch (_) {
      return false;
    }
  };
  const plainFetch = window.fetch.bind(window);
  window.fetch = (what, ...more) =>
    own(what instanceof Request ? what.url : what) ? plainFetch(what, ...more)
      : Promise.reject(new TypeError('not fetched: another server'));

  // A script from elsewhere fails as one that cannot be reached does.
  const source = Object.getOwnPropertyDescriptor(HTMLScriptElement.prototype, 'src');
  Object.defineProperty(HTMLScriptElement.prototype, 'src', {
    ...source,
    set(address) {
      if (own(address)) source.set.call(this, address);
      else setTimeout(() => this.dispatchEvent(new Event('error')));
    },
  });

  // Its own policy is weaker than the server's, and has words that browsers do not know.
  const meaning = Object.getOwnPropertyDescriptor(HTMLMetaElement.prototype, 'httpEquiv');
  Object.defineProperty(HTMLMetaElement.prototype, 'httpEquiv', {
    ...meaning,
    set(name) {
      if (name.toLowerCase() !== 'content-security-policy') meaning.set.call(this, name);
    },
  });

  window.EventSource = class extends EventTarget {
    close() {}
  };
  window.WebSocket = class extends EventTarget {
    readyState = 3;
    constructor() {
      super();
      setTimeout(() => {
        const failed = new Event('error'), closed = new CloseEvent('close');
        if (this.onerror) this.onerror(failed);
        if (this.onclose) this.onclose(closed);
        this.dispatchEvent(failed);
        this.dispatchEvent(closed);
      });
    }
    close() {}
    send() {}
  };
})();

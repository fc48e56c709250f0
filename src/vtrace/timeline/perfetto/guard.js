// SPDX-License-Identifier: BSD-3-Clause
// Blocks the user interface's requests to other servers: statistics, scripts, trace processors.
'use strict';
(function () {
  const isOwn = (address) => {
    try {
      const url = new URL(address, location.href);
      return url.origin === location.origin || url.protocol === 'blob:' || url.protocol === 'data:';
    } catch (_) {
      return false;
    }
  };
  const plainFetch = window.fetch.bind(window);
  window.fetch = (what, ...more) =>
    isOwn(what instanceof Request ? what.url : what) ? plainFetch(what, ...more)
      : Promise.reject(new TypeError('blocked by vtrace: request to another server'));

  // A script from another server fails like a script that cannot be reached.
  const source = Object.getOwnPropertyDescriptor(HTMLScriptElement.prototype, 'src');
  Object.defineProperty(HTMLScriptElement.prototype, 'src', {
    ...source,
    set(address) {
      if (isOwn(address)) source.set.call(this, address);
      else setTimeout(() => this.dispatchEvent(new Event('error')));
    },
  });

  // The interface's own policy is weaker than the server's, and browsers complain about unknown words in the policy.
  const httpEquiv = Object.getOwnPropertyDescriptor(HTMLMetaElement.prototype, 'httpEquiv');
  Object.defineProperty(HTMLMetaElement.prototype, 'httpEquiv', {
    ...httpEquiv,
    set(name) {
      if (name.toLowerCase() !== 'content-security-policy') httpEquiv.set.call(this, name);
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

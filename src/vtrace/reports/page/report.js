// SPDX-License-Identifier: BSD-3-Clause
// Draws the charts of a report from the JSON beside the script. Names come from the trace: the page shows names only as
// text, and Plotly, which interprets some HTML, gets escaped names.
'use strict';
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const COLOURS = data.styles.map((style) => style.colour);
  const PATTERNS = data.styles.map((style) => style.pattern);
  const outside = () => (dark() ? '#3a3f47' : '#dfe2e6');
  const dark = () => !printing && matchMedia('(prefers-color-scheme: dark)').matches;
  let printing = false;
  const PAPER = 680; // pixels between the margins of A4 and of Letter
  const classes = [...data.classes, 'outside of calls'];
  const colour = (i) => (i < COLOURS.length ? COLOURS[i] : outside());

  const byId = (id) => document.getElementById(id);
  const plain = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const short = (text, most = 48) => plain(text.length > most ? text.slice(0, most - 1) + '…' : text);
  const number = (n) => n.toLocaleString('en-US');
  const seconds = (s) => (s >= 1 ? s.toPrecision(4) + ' s' : s >= 1e-3 ? (s * 1e3).toPrecision(4) + ' ms'
    : (s * 1e6).toPrecision(4) + ' µs');
  const bytes = (n) => {
    const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
    let i = 0;
    for (; n >= 1024 && i < 4; i++) n /= 1024;
    return `${i ? n.toPrecision(3) : n} ${units[i]}`;
  };
  const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const times = (bins) => Array.from({length: bins}, (_, i) => (data.begin + ((i + 0.5) * (data.end - data.begin)) / bins) / 1e9);

  function layout(height, more = {}) {
    const ink = dark() ? '#e6e6e6' : '#1a1a1a', line = dark() ? '#454b54' : '#c8ccd2';
    const axis = {gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true};
    return {
      height, width: printing ? PAPER : undefined, margin: {l: 60, r: 10, t: 32, b: 45}, modebar: {bgcolor: 'rgba(0,0,0,0)'}, font: {color: ink, family: 'system-ui, sans-serif'},
      paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)', hovermode: 'closest', ...more,
      hoverlabel: {align: 'left', namelength: 0, bgcolor: dark() ? '#22262c' : '#fff', font: {color: ink}},
      xaxis: {...axis, ...more.xaxis}, yaxis: {...axis, ...more.yaxis},
    };
  }
  const CONFIG = {displaylogo: false, responsive: true, showTips: false, plotlyServerURL: '',
    modeBarButtonsToRemove: ['sendChartToCloud', 'select2d', 'lasso2d']};
  const draw = (id, traces, shape) => Plotly.react(byId(id), traces, shape, CONFIG);
  const hide = (id) => { byId(id).hidden = true; };

  const line = data.timeline;
  const rows = line.rows.length;
  const rowNames = line.rows.map((name) => short(name, 40));
  const rowTicks = () => {
    const step = Math.ceil(rows / 16);
    const some = line.rows.map((_, i) => i).filter((i) => i % step === 0);
    return {tickvals: some, ticktext: some.map((i) => rowNames[i]), autorange: 'reversed'};
  };
  const height = Math.min(620, 120 + rows * 26);

  function drawClasses() {
    const used = classes.map((_, c) => c).filter((c) => line.seconds.some((row) => row[c] > 0));
    draw('classes', used.map((c) => ({
      type: 'bar', orientation: 'h', name: plain(classes[c]), y: line.rows.map((_, i) => i), x: line.seconds.map((row) => row[c]),
      marker: {color: colour(c), pattern: {shape: rows <= 64 ? PATTERNS[c] || '' : '', fillmode: 'overlay', size: 7, solidity: 0.25, fgcolor: '#000', fgopacity: 0.45}},
      hovertext: line.seconds.map((row, i) => `${rowNames[i]}<br>${plain(classes[c])}: ${seconds(row[c])}`), hoverinfo: 'text', textposition: 'none',
    })), layout(height + 40, {barmode: 'stack', bargap: rows > 64 ? 0 : 0.2, legend: {orientation: 'h', y: 1.02, yanchor: 'bottom', traceorder: 'normal'},
      margin: {l: 60, r: 10, t: 40, b: 45}, xaxis: {title: {text: 'seconds'}}, yaxis: rowTicks()}));
  }

  function classesTable() {
    const table = document.createElement('table');
    const add = (parent, tag, text, kind) => {
      const cell = parent.appendChild(document.createElement(tag));
      cell.textContent = text;
      if (kind) cell.className = kind;
    };
    const head = table.createTHead().insertRow();
    ['', ...classes].forEach((name) => add(head, 'th', name));
    const body = table.createTBody();
    line.seconds.forEach((values, i) => {
      const row = body.insertRow();
      add(row, 'td', line.rows[i]);
      values.forEach((value) => add(row, 'td', value.toFixed(6), 'n'));
    });
    byId('classes-table').append(table);
  }

  const main = unpack(line.main, Uint8Array), share = unpack(line.share, Uint8Array);
  const bins = line.bins, kinds = classes.length;
  const at = (row, c, bin) => share[(row * kinds + c) * bins + bin];
  const matrixOf = (value) => line.rows.map((_, row) => Array.from({length: bins}, (_, bin) => value(row, bin)));
  const texts = matrixOf((row, bin) => classes.map((name, c) => [at(row, c, bin), name]).filter(([s]) => s > 0)
    .sort((a, b) => b[0] - a[0]).map(([s, name]) => `${s} % ${plain(name)}`).join('<br>'));
  function drawTimeline() {
    const what = byId('timeline-what').value;
    const x = times(bins), y = line.rows.map((_, i) => i);
    const hover = texts.map((row, i) => row.map((text, bin) => `${rowNames[i]} at ${x[bin].toPrecision(5)} s<br>${text}`));
    const shape = layout(height, {xaxis: {title: {text: 'seconds'}}, yaxis: rowTicks()});
    const common = {type: 'heatmap', x, y, hovertext: hover, hoverinfo: 'text', ygap: rows <= 64 ? 2 : 0};
    if (what !== 'main') {
      const c = Number(what);
      draw('timeline', [{...common, z: matrixOf((row, bin) => at(row, c, bin)), zmin: 0, zmax: 100, colorscale: 'Cividis',
        colorbar: {title: {text: '%'}, thickness: 12}}], shape);
      return;
    }
    const scale = classes.flatMap((_, c) => [[c / kinds, colour(c)], [(c + 1) / kinds, colour(c)]]);
    const z = line.rows.map((_, row) => Array.from(main.subarray(row * bins, (row + 1) * bins), (c) => (c === 255 ? null : c)));
    const seen = classes.map((_, c) => c).filter((c) => main.includes(c));
    const legend = seen.map((c) => ({type: 'scatter', mode: 'markers', x: [null], y: [null], name: plain(classes[c]),
      marker: {color: colour(c), symbol: 'square', size: 12}, hoverinfo: 'skip', showlegend: true}));
    draw('timeline', [{...common, z, zmin: -0.5, zmax: kinds - 0.5, colorscale: scale, showscale: false}, ...legend],
      {...shape, margin: {l: 60, r: 10, t: 40, b: 45}, height: height + 40, legend: {orientation: 'h', y: 1.02, yanchor: 'bottom'}});
  }

  function drawFlame() {
    if (!data.flame.path.length) { hide('s-flame'); return; }
    drawPaths('flame', data.flame, 'all calls', (time) => seconds(time / 1e9));
  }

  function drawPeak() {
    if (!data.peak) { byId('peak-part').hidden = true; return; }
    drawPaths('peak', data.peak, 'bytes in use at the peak', bytes);
  }

  // The tree of call paths, by time or another number; text: of such a number.
  function drawPaths(id, flame, all, text) {
    const depth = new Map([[0, 0]]);
    flame.parent.forEach((parent, i) => depth.set(flame.path[i], depth.get(parent) + 1));
    const deepest = Math.max(...depth.values());
    const share = (time) => `${((100 * time) / flame.whole).toPrecision(3)} %`;
    draw(id, [{
      type: 'icicle', ids: ['0', ...flame.path.map(String)], parents: ['', ...flame.parent.map(String)],
      labels: [all, ...flame.name.map((name) => short(name.replace('!$omp ', '')))], values: [flame.whole, ...flame.time], branchvalues: 'total', sort: false,
      hovertext: [`${all}<br>${text(flame.whole)}`, ...flame.name.map((name, i) =>
        `${short(name, 120)}<br>${text(flame.time[i])}, ${share(flame.time[i])}<br>${number(flame.calls[i])} calls`)],
      hoverinfo: 'text', textinfo: 'label', tiling: {orientation: 'v', pad: 1}, pathbar: {thickness: 22},
      marker: {colors: [outside(), ...flame.class.map(colour)], line: {width: 0.5, color: dark() ? '#16181c' : '#fff'}},
      textfont: {color: '#000'}, insidetextfont: {color: ['', ...flame.class].map((c) => (c === '' ? undefined : data.styles[c].light_text ? '#fff' : '#000'))},
    }], layout(Math.min(760, 90 + 30 * (deepest + 1)), {margin: {l: 2, r: 2, t: 30, b: 2}}));
  }

  // The heat map of values at the places of a grid: planes of equal z stand side by side. word: the kind of the values.
  function drawGrid(id, grid, values, word, title, most = 0) {
    const [nx, ny, nz] = grid.lengths, gap = nz > 1 ? 1 : 0;
    const z = [], text = [];
    for (let x = 0; x < nx; x++) {
      const row = [], said = [];
      for (let k = 0; k < nz; k++) {
        for (let y = 0; y < ny; y++) {
          const at = (x * ny + y) * nz + k, place = [x, y, k].slice(0, nz > 1 ? 3 : ny > 1 ? 2 : 1).join(', ');
          row.push(values[at]);
          said.push(values[at] === null ? '' : `${short(grid.names[at])} at (${place})<br>${seconds(values[at])} ${plain(word)}`);
        }
        if (gap && k < nz - 1) { row.push(null); said.push(''); }
      }
      z.push(row);
      text.push(said);
    }
    const wide = z[0].length, step = (n) => Math.ceil(n / 16), ticks = (n) => Array.from({length: n}, (_, i) => i).filter((i) => i % step(n) === 0);
    const columns = ticks(wide).filter((c) => c % (ny + gap) < ny);
    draw(id, [{type: 'heatmap', z, hovertext: text, hoverinfo: 'text', colorscale: 'Viridis', zmin: 0, zmax: most || Math.max(...values) || 1, xgap: wide <= 64 ? 1 : 0, ygap: nx <= 64 ? 1 : 0,
      colorbar: {title: {text: 'seconds'}, thickness: 12}}],
      layout(Math.min(640, 140 + 40 * nx), {title: {text: title, font: {size: 14}}, xaxis: {title: {text: nz > 1 ? 'y, for each z' : 'y'}, showgrid: false, visible: ny > 1 || nz > 1, tickvals: columns, ticktext: columns.map((c) => c % (ny + gap))},
        yaxis: {title: {text: 'x'}, autorange: 'reversed', showgrid: false, tickvals: ticks(nx)}}));
  }

  function drawTopology() {
    const grid = data.topology;
    if (!grid) { hide('s-topology'); return; }
    const [, ny, nz] = grid.lengths, what = Number(byId('topology-what').value), values = grid.seconds[what];
    const known = values.filter((v) => v !== null), most = Math.max(...known, 0), mean = known.reduce((a, b) => a + b, 0) / (known.length || 1);
    byId('topology-text').textContent = `${grid.name}: ${grid.lengths.slice(0, nz > 1 ? 3 : ny > 1 ? 2 : 1).join(' × ')} processes` +
      (mean > 0 ? `; the largest has ${(most / mean).toPrecision(3)} × the mean.` : '.') + (nz > 1 ? ' Planes of equal z stand side by side.' : '');
    drawGrid('topology', grid, values, classes[what], '');
  }

  // ---- Ranks and threads inside the program ----

  const runs = [{run: data.run, spread: data.spread, topology: data.topology}, ...data.others];
  const sampledRuns = runs.filter((run) => run.spread);
  for (const run of sampledRuns) {
    const each = run.spread.threads.length, all = Object.fromEntries(Object.entries(run.spread.seconds).map(([name, text]) => [name, unpack(text, Float32Array)]));
    const places = new Map(run.spread.items.map((item, i) => [item.join('\n'), i]));
    run.ofItem = (key) => {
      const values = all[picked('spread-measure')];
      return values && places.has(key) ? values.subarray(places.get(key) * each, (places.get(key) + 1) * each) : new Float32Array(each);
    };
  }
  const spread = sampledRuns.length ? sampledRuns[0].spread : null;
  // The rows of any run by unit and name: [unit, name].
  const items = [...new Map(sampledRuns.flatMap((run) => run.spread.items.map((item) => [item.join('\n'), item]))).values()];
  const picked = (id) => byId(id).value;

  function option(parent, value, text) {
    const made = parent.appendChild(document.createElement('option'));
    made.value = value;
    made.textContent = text;
  }

  function fillSpread() {
    if (!spread) return;
    for (const [measure, text] of [['own', 'exclusive time'], ['mpi', 'time in MPI'], ['barrier', 'time in barriers']])
      if (sampledRuns.some((run) => measure in run.spread.seconds)) option(byId('spread-measure'), measure, text);
    fillRows();
    for (let place = 0; place < 3; place++) {
      const of = byId(`spread-run-${place}`);
      sampledRuns.forEach((run, i) => option(of, i, run.run));
      if (place < sampledRuns.length && sampledRuns.length > 1) { // the same row of each run
        of.value = place;
        wanted[place] = Number(picked('spread-0'));
        byId(`spread-${place}`).value = wanted[place];
      }
    }
    if (!sampledRuns.some((run) => run.topology)) byId('spread-shape').querySelector('[value=topology]').remove();
    if (spread.ranks.length < 2) byId('spread-view').value = spread.threads.length > 1 ? 'rank' : 'thread';
    fillWhich();
  }

  const wanted = [-1, -1, -1]; // the chosen rows

  // The rows with time of the chosen measure, the largest first. The largest stands for a chosen row without such time.
  function fillRows() {
    const sums = items.map((item) => sampledRuns.reduce((sum, run) => run.ofItem(item.join('\n')).reduce((a, b) => a + b, sum), 0));
    const order = items.map((_, i) => i).filter((i) => sums[i] > 0).sort((a, b) => sums[b] - sums[a]);
    for (let place = 0; place < 3; place++) {
      const select = byId(`spread-${place}`), chosen = wanted[place];
      select.replaceChildren();
      if (place) option(select, -1, 'nothing');
      for (const unit of ['function', 'loop', 'line']) {
        const group = document.createElement('optgroup');
        group.label = `${unit}s`;
        order.forEach((i) => { if (items[i][0] === unit) option(group, i, items[i][1]); });
        if (group.children.length) select.append(group);
      }
      if (chosen >= 0) select.value = sums[chosen] > 0 ? chosen : picked('spread-0');
    }
  }

  const threadRun = () => sampledRuns[Number(picked('spread-run-0'))]; // of the thread view

  function fillWhich() {
    const view = picked('spread-view'), select = byId('spread-which');
    select.replaceChildren();
    (view === 'thread' ? threadRun().spread.threads : spread.ranks).forEach((name, i) => option(select, i, name));
    byId('spread-one').hidden = view === 'application';
    byId('spread-form').hidden = view === 'thread';
    for (let place = 0; place < 3; place++) {
      byId(`spread-${place}`).parentElement.hidden = view === 'thread';
      byId(`spread-run-${place}`).parentElement.hidden = (view === 'thread' && place > 0) || sampledRuns.length < 2;
    }
  }

  const ending = (text, most) => (text.length > most ? `…${text.slice(1 - most)}` : text); // files and lines stand at the end

  // A thread by unit: its rows, the largest first.
  function drawThread(thread) {
    ['function', 'loop', 'line'].forEach((unit, place) => {
      const id = `spread-chart-${place}`;
      const run = threadRun();
      const rows = run.spread.items.map((item) => [item[1], run.ofItem(item.join('\n'))[thread], item[0]]).filter(([, s, kind]) => kind === unit && s > 0)
        .sort((a, b) => b[1] - a[1]).slice(0, 15).reverse();
      byId(id).hidden = !rows.length;
      if (rows.length) drawBars(id, rows.map(([name]) => (unit === 'function' ? name : ending(name, 40))), rows.map(([, s]) => s), `${unit}s of ${run.spread.threads[thread]}${sampledRuns.length > 1 ? `, ${run.run}` : ''}`, false);
    });
  }

  // most: the end of the scale; 0: chosen by Plotly.
  function drawBars(id, names, values, title, reversed, most = 0) {
    const y = names.map((_, i) => i), step = Math.ceil(names.length / 20), ticks = y.filter((i) => i % step === 0);
    draw(id, [{type: 'bar', orientation: 'h', x: values, y, hovertext: names.map((name, i) => `${short(name, 120)}<br>${seconds(values[i])}`),
      hoverinfo: 'text', textposition: 'none', marker: {color: COLOURS[0]}}],
      layout(Math.min(620, 110 + names.length * 22), {title: {text: plain(title), font: {size: 14}}, bargap: names.length > 64 ? 0 : 0.2,
        xaxis: {title: {text: 'seconds'}, rangemode: 'tozero', ...(most ? {range: [0, most * 1.05]} : {})},
        yaxis: {tickvals: ticks, ticktext: ticks.map((i) => short(names[i], 40)), autorange: reversed ? 'reversed' : true}}));
  }

  // One dimension from left to right, in several rows if it is long.
  function drawPanel(id, names, values, title, most) {
    const wide = Math.min(names.length, 32), high = Math.ceil(names.length / wide);
    const rowsOf = (value) => Array.from({length: high}, (_, y) => Array.from({length: wide}, (_, x) => (y * wide + x < names.length ? value(y * wide + x) : null)));
    draw(id, [{type: 'heatmap', z: rowsOf((i) => values[i]), hovertext: rowsOf((i) => `${short(names[i])}<br>${seconds(values[i])}`), hoverinfo: 'text',
      colorscale: 'Viridis', zmin: 0, zmax: most || 1, xgap: 1, ygap: 1, colorbar: {title: {text: 'seconds'}, thickness: 12}}],
      layout(Math.min(620, 120 + 34 * high), {title: {text: plain(title), font: {size: 14}}, xaxis: {showgrid: false, tickvals: [...Array(wide).keys()].filter((i) => i % Math.ceil(wide / 16) === 0)},
        yaxis: {visible: false, autorange: 'reversed'}}));
  }

  // The chosen row of one picker: its values and names by rank, or by thread of a rank (found by name in other runs).
  function choice(place, view, rankName) {
    const run = sampledRuns[Number(picked(`spread-run-${place}`))], item = items[Number(picked(`spread-${place}`))];
    if (!item) return null;
    const known = run.spread, rank = known.ranks.indexOf(rankName), each = run.ofItem(item.join('\n'));
    const threads = known.threads.map((_, i) => i).filter((i) => view === 'application' || known.rank[i] === rank);
    const values = view === 'rank' ? threads.map((i) => each[i]) : known.ranks.map(() => 0);
    if (view === 'application') threads.forEach((i) => { values[known.rank[i]] += each[i]; });
    const names = view === 'rank' ? threads.map((i) => known.threads[i]) : known.ranks;
    const most = Math.max(...values, 0), mean = values.reduce((a, b) => a + b, 0) / (values.length || 1);
    const measure = picked('spread-measure') === 'own' ? '' : ` ${byId('spread-measure').selectedOptions[0].text.replace('time ', '')}`;
    const title = `${item[1]}${sampledRuns.length > 1 ? `, ${run.run}` : ''}: ${seconds(mean * values.length)}${measure}` + (mean > 0 ? `, the largest ${(most / mean).toPrecision(3)} × the mean` : '');
    return {run, names, values, most, title};
  }

  function drawSpread() {
    if (!spread) { hide('s-spread'); return; }
    const view = picked('spread-view'), which = Number(picked('spread-which'));
    if (view === 'thread') { drawThread(which); return; }
    const found = [0, 1, 2].map((place) => choice(place, view, spread.ranks[which]));
    // one scale for the same row of several runs
    const together = sampledRuns.length > 1 ? Math.max(...found.map((one) => (one ? one.most : 0))) : 0;
    found.forEach((one, place) => {
      const id = `spread-chart-${place}`;
      byId(id).hidden = !one;
      if (!one) return;
      const shape = picked('spread-shape'), grid = one.run.topology;
      if (shape === 'topology' && view === 'application' && grid) {
        const places = grid.process.map((process) => (process === null ? null : one.values[one.run.spread.process.indexOf(process)] ?? 0));
        drawGrid(id, grid, places, '', short(one.title, 120), together);
      } else if (shape === 'bars') drawBars(id, one.names, one.values, one.title, true, together);
      else drawPanel(id, one.names, one.values, one.title, together || one.most);
    });
  }

  // ---- Runs side by side ----

  const patternOf = ['', '/', 'x']; // beside colours, for readers who see few of them
  function drawRuns() {
    const compared = data.compared;
    if (!compared) return;
    const used = classes.map((_, c) => c).filter((c) => compared.class_seconds.some((run) => run[c] > 0));
    const names = runs.map((run) => short(run.run, 40));
    draw('runs-classes', used.map((c) => ({
      type: 'bar', orientation: 'h', name: plain(classes[c]), y: runs.map((_, i) => i), x: compared.class_seconds.map((run) => run[c]),
      marker: {color: colour(c)}, hovertext: compared.class_seconds.map((run, i) => `${names[i]}<br>${plain(classes[c])}: ${seconds(run[c])}`), hoverinfo: 'text', textposition: 'none',
    })), layout(130 + 34 * runs.length, {barmode: 'stack', legend: {orientation: 'h', y: 1.02, yanchor: 'bottom', traceorder: 'normal'}, margin: {l: 60, r: 10, t: 40, b: 45},
      xaxis: {title: {text: 'seconds of all locations'}}, yaxis: {tickvals: runs.map((_, i) => i), ticktext: names, autorange: 'reversed'}}));
    const unit = picked('runs-unit'), ratio = picked('runs-as') === 'ratio';
    const shown = compared.units[unit].filter((row) => !ratio || row[1] > 0);
    const value = (row, i) => (row[i + 1] === null ? null : ratio ? row[i + 1] / row[1] : row[i + 1]);
    const label = (name) => (unit === 'function' ? short(name, 40) : plain(ending(name, 40)));
    draw('runs-chart', runs.map((run, i) => ({
      type: 'bar', orientation: 'h', name: names[i], y: shown.map((_, at) => at), x: shown.map((row) => value(row, i)),
      marker: {color: COLOURS[i], pattern: {shape: patternOf[i], fillmode: 'overlay', size: 7, solidity: 0.25, fgcolor: '#000', fgopacity: 0.45}},
      hovertext: shown.map((row) => `${short(row[0], 120)}<br>${names[i]}: ${row[i + 1] === null ? 'none' : seconds(row[i + 1])}` +
        (i && row[1] > 0 && row[i + 1] !== null ? `, ${(row[i + 1] / row[1]).toPrecision(3)} × the first` : '')),
      hoverinfo: 'text', textposition: 'none',
    })), layout(Math.min(900, 130 + shown.length * (14 * runs.length + 8)), {barmode: 'group', bargap: 0.25, legend: {orientation: 'h', y: 1.02, yanchor: 'bottom', traceorder: 'normal'},
      margin: {l: 60, r: 10, t: 40, b: 45}, xaxis: {title: {text: ratio ? 'exclusive time by that of the first run' : 'exclusive seconds'}, rangemode: 'tozero'},
      yaxis: {tickvals: shown.map((_, at) => at), ticktext: shown.map((row) => label(row[0])), autorange: 'reversed'}}));
  }

  const signed = (s) => (s > 0 ? `+${seconds(s)}` : s < 0 ? `-${seconds(-s)}` : 'no difference');

  // The differences of a run to the first one, by rank and class, and by function: bars to the right take longer.
  function drawDifferences() {
    const compared = data.compared;
    if (!compared) return;
    const other = Number(picked('runs-other')), {rows: of, seconds: more} = compared.ranks[other], y = of.map((_, i) => i), some = y.filter((i) => i % Math.ceil(of.length / 16) === 0);
    const used = classes.map((_, c) => c).filter((c) => more.some((row) => row[c]));
    const axis = {title: {text: 'seconds more than in the first run'}, zeroline: true, zerolinewidth: 2};
    const legend = {orientation: 'h', y: 1.02, yanchor: 'bottom', traceorder: 'normal'}, margin = {l: 60, r: 10, t: 40, b: 45};
    draw('runs-ranks', used.map((c) => ({
      type: 'bar', orientation: 'h', name: plain(classes[c]), y, x: more.map((row) => row[c]), marker: {color: colour(c)},
      hovertext: more.map((row, i) => `${short(of[i], 40)}<br>${plain(classes[c])}: ${signed(row[c])}`), hoverinfo: 'text', textposition: 'none',
    })), layout(Math.min(620, 150 + 26 * of.length), {barmode: 'relative', bargap: of.length > 64 ? 0 : 0.2, legend, margin, showlegend: true,
      xaxis: axis, yaxis: {tickvals: some, ticktext: some.map((i) => short(of[i], 40)), autorange: 'reversed'}}));
    const differ = compared.units.function.map((row) => [row[0], (row[other + 2] ?? 0) - (row[1] ?? 0)])
      .filter(([, s]) => s).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 15);
    const places = differ.map((_, i) => i);
    draw('runs-functions', [{type: 'bar', orientation: 'h', y: places, x: differ.map(([, s]) => s), marker: {color: COLOURS[0]}, textposition: 'none',
      hovertext: differ.map(([name, s]) => `${short(name, 120)}<br>${signed(s)}`), hoverinfo: 'text'}],
      layout(110 + 24 * differ.length, {bargap: 0.2, xaxis: axis, yaxis: {tickvals: places, ticktext: differ.map(([name]) => short(name, 40)), autorange: 'reversed'}}));
  }

  function drawMatrix() {
    const m = data.matrix;
    if (!m) { hide('s-matrix'); return; }
    const what = byId('matrix-what').value, n = m.rows.length;
    const values = unpack(m[what], Float64Array);
    const say = (v) => (what === 'bytes' ? bytes(v) : `${number(v)} messages`);
    const z = m.rows.map((_, i) => Array.from(values.subarray(i * n, (i + 1) * n), (v) => (v > 0 ? Math.log10(v) : null)));
    const text = m.rows.map((from, i) => m.rows.map((to, j) => `${short(from)} → ${short(to)}<br>${say(values[i * n + j])}`));
    const most = Math.max(...values), top = Math.max(1, Math.ceil(Math.log10(most + 1)));
    const ticks = Array.from({length: top + 1}, (_, i) => i);
    const step = Math.ceil(n / 16), some = m.rows.map((_, i) => i).filter((i) => i % step === 0);
    const axis = {tickvals: some, ticktext: some.map((i) => short(m.rows[i], 24))};
    const size = Math.min(640, 220 + 40 * n);
    byId('matrix-text').textContent = `${number(m.messages)} messages, ${bytes(m.total)}, between ${number(m.pairs)} pairs` +
      (m.each > 1 ? `; each cell is ${m.each} × ${m.each} ranks` : '') + '. Colours are logarithmic.';
    draw('matrix', [{type: 'heatmap', z, hovertext: text, hoverinfo: 'text', colorscale: 'Viridis', zmin: 0, zmax: top, xgap: n <= 64 ? 1 : 0, ygap: n <= 64 ? 1 : 0,
      colorbar: {tickvals: ticks, ticktext: ticks.map((t) => say(10 ** t)), thickness: 12}}],
      layout(size, {xaxis: {...axis, title: {text: 'to'}, side: 'bottom', showgrid: false}, yaxis: {...axis, title: {text: 'from'}, autorange: 'reversed', showgrid: false}}));
  }

  function drawSizes() {
    const s = data.sizes;
    if (!s) return;
    const counts = unpack(s.counts, Float64Array), x = times(s.bins);
    const power = (p) => (p === 0 ? '0' : bytes(2 ** (p - 1)));
    const y = Array.from({length: s.powers}, (_, i) => i);
    const row = (i) => Array.from(counts.subarray(i * s.bins, (i + 1) * s.bins));
    const text = y.map((i) => row(i).map((v, j) => `${number(v)} messages of ${power(s.first + i)}${s.first + i > 1 ? ' or more' : ''}<br>at ${x[j].toPrecision(5)} s`));
    const ticks = y.filter((i) => i % Math.ceil(s.powers / 14) === 0);
    draw('sizes', [{type: 'heatmap', x, y, z: y.map((i) => row(i).map((v) => (v > 0 ? v : null))), hovertext: text, hoverinfo: 'text', colorscale: 'Viridis',
      colorbar: {title: {text: 'messages'}, thickness: 12}}],
      layout(Math.min(420, 170 + 24 * s.powers), {xaxis: {title: {text: 'seconds'}}, yaxis: {tickvals: ticks, ticktext: ticks.map((i) => power(s.first + i))}}));
  }

  function drawHeap() {
    const heap = data.heap;
    if (!heap) { hide('s-heap'); return; }
    const dashes = ['solid', 'dash', 'dot', 'dashdot'];
    draw('heap', heap.curves.map((curve, i) => ({type: 'scatter', mode: 'lines', name: short(curve.name), x: curve.time.map((t) => t / 1e9),
      y: curve.bytes, line: {color: COLOURS[(i + 1) % 6], dash: dashes[i % 4], shape: 'hv', width: 2},
      hovertext: curve.bytes.map((b, j) => `${short(curve.name)}<br>${bytes(b)} at ${(curve.time[j] / 1e9).toPrecision(5)} s`), hoverinfo: 'text'})),
      layout(380, {showlegend: true, xaxis: {title: {text: 'seconds'}}, yaxis: {title: {text: 'bytes'}, rangemode: 'tozero'}}));
  }

  const amount = (v) => (Number.isInteger(v) ? number(v) : v.toPrecision(4));

  // The chosen counter: bars by rank, and a heat map of sections by rank.
  function drawCounters() {
    const of = data.counters;
    if (!of) { hide('s-counters'); return; }
    const at = Number(byId('counters-what').value), one = of.series[at], unit = one.unit && one.unit !== '#' ? ` ${one.unit}` : '';
    const ticks = of.rows.map((_, i) => i).filter((i) => i % Math.ceil(of.rows.length / 20) === 0);
    const axis = {tickvals: ticks, ticktext: ticks.map((i) => short(of.rows[i], 40))};
    const sum = one.values.reduce((a, b) => a + b, 0);
    draw('counters-ranks', [{type: 'bar', orientation: 'h', x: one.values, y: of.rows.map((_, i) => i), marker: {color: COLOURS[0]}, textposition: 'none',
      hovertext: one.values.map((v, i) => `${short(of.rows[i], 120)}<br>${amount(v)}${plain(unit)}`), hoverinfo: 'text'}],
      layout(Math.min(620, 110 + of.rows.length * 22), {title: {text: plain(`${one.name}: ${amount(sum)}${unit}`), font: {size: 14}}, bargap: of.rows.length > 64 ? 0 : 0.2,
        xaxis: {title: {text: plain(unit) || 'increase'}, rangemode: 'tozero'}, yaxis: {...axis, autorange: 'reversed'}}));
    byId('counters-sections').hidden = !of.sections.length;
    if (!of.sections.length) return;
    const z = of.in_sections[at], names = of.sections.map((name) => short(name, 40));
    draw('counters-sections', [{type: 'heatmap', z, x: of.rows.map((_, i) => i), y: names.map((_, i) => i), colorscale: 'Viridis', xgap: of.rows.length <= 64 ? 1 : 0, ygap: 1,
      hovertext: z.map((row, i) => row.map((v, j) => `${names[i]}<br>${short(of.rows[j])}<br>${v === null ? 'no reading' : amount(v) + plain(unit)}`)), hoverinfo: 'text',
      colorbar: {title: {text: plain(unit)}, thickness: 12}}],
      layout(Math.min(620, 130 + 26 * names.length), {title: {text: 'in sections, by rank', font: {size: 14}}, xaxis: {...axis, showgrid: false},
        yaxis: {tickvals: names.map((_, i) => i), ticktext: names, autorange: 'reversed', showgrid: false}}));
  }

  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    const value = (row, i) => {
      const cell = row.cells[i];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    heads.forEach((head, i) => head.firstElementChild.addEventListener('click', () => {
      const down = head.getAttribute('aria-sort') !== 'descending';
      heads.forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const order = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)));
      const sorted = [...body.rows].sort((a, b) => order(value(a, i), value(b, i)) * (down ? -1 : 1));
      body.append(...sorted);
    }));
  }

  function contents() {
    for (const section of document.querySelectorAll('main section')) {
      if (section.hidden) continue;
      const link = document.createElement('a');
      link.href = `#${section.id}`;
      link.textContent = section.querySelector('h2').textContent;
      document.querySelector('nav').append(link);
    }
  }

  const all = [drawClasses, drawDifferences, drawRuns, drawTopology, drawTimeline, drawFlame, drawSpread, drawMatrix, drawSizes, drawHeap, drawPeak, drawCounters];
  const drawAll = () => all.forEach((one) => one());
  classes.forEach((name, c) => {
    if (!line.seconds.some((row) => row[c] > 0)) return;
    const option = byId('timeline-what').appendChild(document.createElement('option'));
    option.value = c;
    option.textContent = `share of ${name}`;
  });
  if (data.topology) {
    const sums = data.topology.seconds.map((row) => row.reduce((a, b) => a + b, 0));
    classes.forEach((name, c) => {
      if (!sums[c]) return;
      const option = byId('topology-what').appendChild(document.createElement('option'));
      option.value = c;
      option.textContent = `time: ${name}`;
      option.selected = sums[c] === Math.max(...sums);
    });
  }
  if (data.compared) {
    for (const unit of ['function', 'loop', 'line']) if (data.compared.units[unit].length) option(byId('runs-unit'), unit, `${unit}s`);
    data.others.forEach((one, at) => option(byId('runs-other'), at, one.run));
    byId('runs-other').addEventListener('change', drawDifferences);
    byId('runs-other').parentElement.hidden = data.others.length < 2;
    for (const id of ['runs-unit', 'runs-as']) byId(id).addEventListener('change', drawRuns);
  }
  if (data.counters) data.counters.series.forEach((one, i) => option(byId('counters-what'), i, one.name));
  fillSpread();
  drawAll();
  classesTable();
  contents();
  document.querySelectorAll('table.sortable').forEach(sortable);
  byId('timeline-what').addEventListener('change', drawTimeline);
  byId('topology-what').addEventListener('change', drawTopology);
  byId('spread-view').addEventListener('change', () => { fillWhich(); drawSpread(); });
  byId('spread-run-0').addEventListener('change', () => { if (picked('spread-view') === 'thread') fillWhich(); drawSpread(); });
  byId('spread-measure').addEventListener('change', () => { fillRows(); drawSpread(); });
  for (const id of ['spread-which', 'spread-shape', 'spread-run-1', 'spread-run-2']) byId(id).addEventListener('change', drawSpread);
  for (let place = 0; place < 3; place++) byId(`spread-${place}`).addEventListener('change', () => { wanted[place] = Number(picked(`spread-${place}`)); drawSpread(); });
  byId('matrix-what').addEventListener('change', drawMatrix);
  byId('counters-what').addEventListener('change', drawCounters);
  for (const input of document.querySelectorAll('input[data-finds]')) input.addEventListener('input', () => {
    const part = input.value.toLowerCase();
    const names = (row) => [...row.cells].filter((cell) => !cell.classList.contains('n')).map((cell) => cell.textContent.toLowerCase());
    for (const row of byId(input.dataset.finds).tBodies[0].rows) row.hidden = !names(row).some((name) => name.includes(part));
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  addEventListener('beforeprint', () => { printing = true; drawAll(); });
  addEventListener('afterprint', () => { printing = false; drawAll(); });
})();

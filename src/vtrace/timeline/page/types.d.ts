// SPDX-License-Identifier: BSD-3-Clause
// The types that several modules of the page share. Only the checker of types reads them (jsconfig.json).

type App = import('./app.js').App;
type CanvasSurface = import('./draw/surface.js').CanvasSurface;
type Client = import('./net/client.js').Client;
type Places = import('./draw/labels.js').Places;
type Ints = Record<string, Float64Array>; // columns of a part of a saved page
type Regions = import('./net/regions.js').Regions;
type SavedAnswers = Record<string, (client: import('./net/saved.js').SavedClient, trace: number, words: any) => Promise<any>>;
type Store = import('./model/store.js').Store;
type TileStore = import('./net/tile_store.js').TileStore;

/** A trace, as the server describes it. */
interface Meta {
  title: string;
  duration: number;
  top: number; // the coarsest level of tiles
  classes: {name: string, colour: string}[];
  counters: {name: string, unit: string}[];
  comms: string[];
  rows: TraceRows;
  [name: string]: any;
}

interface TraceData {
  meta: Meta;
  regions: Regions;
  tiles: TileStore;
  marks?: Table;
  messages?: Table;
  messagesRows?: string;
  messagesOf?: State; // the state for which messages are the answer
  messagesAsked?: object; // the last request
  crowded?: boolean; // messages are too dense to draw
  collectives?: Table;
  counters?: Table;
  stack?: Calls;
  stackOf?: string;
  sampled?: Calls; // stacks of samples of the row sampledOf
  sampledOf?: string;
  leaves?: Leaves;
  rare?: Rare;
  curves?: Curves;
  offCore?: OffCore;
  curveLines?: string[];
  sums?: Sums;
  sumsAsked?: string;
  hasLoop?: boolean; // the server has looked for iterations, or does so quickly
  ticks?: Table; // the iterations with ticks in the strip
  ticksAsked?: number; // the most ticks of the last request
  rareLines?: string[]; // lines about marks that are left out
  found?: Table;
  foundAt?: {rows: string, bins: number, begin: number, end: number};
}

/** A trace that the window touches. */
interface InWindow {
  number: number; // of the trace
  trace: TraceData;
  part: Part;
  shown: Row[]; // on the screen
  keys: string[]; // of these rows
  window: Span; // in the time of the trace
  begin: number; // of the window inside the trace
  end: number;
}

/** Rows of a trace, the pinned ones first. */
interface Part {
  rows: Row[];
  id: string; // another one for other rows
  pinned: number; // number of pinned rows
  pinTop: number; // px of pinned rows of other traces above
  pinHigh: number; // px of a pinned row
  begin: number; // y of the first row that is not pinned, below all pinned rows, without scrolling
  high: number; // px of a row that is not pinned
  top: number;
  height: number;
}

interface Layout {
  width: number; // of the plot, without the names
  left: number; // where the plot begins
  top: number;
  band: number; // px of all pinned rows, from top on
  bottom: number; // of the rows
  height: number; // of the chart
  parts: Part[]; // one for each trace
  most: number; // the largest scroll
}

/** The place of a trace on the screen. */
interface View {
  l: Layout;
  scroll: number;
  trace: number;
  rowOf: Map<number, number>; // row of a location
  x: (time: number) => number;
  paper: any; // colours
}

/** The place of a row's colours, px, and the window, ns. */
type RowBox = {y: number, h: number, left: number, width: number, begin: number, end: number};

/** A tile, and the part of its times to draw, ns. */
type Piece<T> = {tile: T, level: number, number: number, from: number, to: number};

/** A pixel column of a row. */
interface PixelColumn {
  x: number;
  end: number;
  bins: number;
  region: number;
  sums: Float64Array; // of the classes, and of their parts that wait
  used: number[]; // places of sums that may have time
  run: {x: number, end: number, colour: number}; // columns so far of one colour
}

/** Messages between two rows, joined. */
type Bundle = {from: number, to: number, count: number, bytes: number, send: number, receive: number};

/** The pane of the selected row. */
type PlacedPane = NonNullable<ReturnType<typeof import('./draw/chart.js').paneOf>>;

type FlameBox = {path: number, x: number, width: number, depth: number};

interface Paint {
  classes: number[]; // colours by class
  classOf: Uint8Array; // class by region
  waiting: number[]; // colours by class of calls that wait
  waits: Uint8Array; // 1 for each region that waits
  back: number; // the paper
  idle: number;
  washed: number; // colour to which all but the found calls fade
  colour: 'class' | 'region' | 'wait' | 'heat' | 'counter';
  own: ((region: number) => number | undefined) | null; // the colour that the user chose for a region
  found: ((region: number) => boolean) | null; // true for a region that a search finds; null: no search
  longest: number; // ns, for heat
  memo: Map<number, number>; // colours of regions that do not depend on time
}

/** The colours from first to last - 1, each wide px; colour 0 starts at x = zero; clipped to x from low to high; negative
 * colours are left out. */
type Strip = {y: number, h: number, zero: number, wide: number, first: number, last: number, low: number, high: number, colours: Int32Array};

interface Surface {
  width: number;
  height: number;
  fill: (x: number, y: number, w: number, h: number, colour: number) => void; // opaque, at least a pixel
  strip: (strip: Strip) => void; // rectangles of one width side by side
  flush: () => void; // ends the pixels: later shapes are drawn above them
  line: (x0: number, y0: number, x1: number, y1: number, colour: number, width?: number, alpha?: number) => void;
  veil: (x: number, y: number, w: number, h: number, colour: number, alpha: number) => void;
  frame: (x: number, y: number, w: number, h: number, colour: number, width?: number) => void;
  curve: (points: number[], colour: number) => void; // x, y, x, y ...
  /** Lines as x0, y0, x1, y1 ..., painted at once, so that lines on top of one another cover no more than one. */
  strokes: (ends: number[], colour: number, width: number, alpha: number) => void;
  widthOf: (text: string, size?: number) => number; // px
  text: (text: string, x: number, y: number, colour: number, room?: number, size?: number) => void;
}

/** Lowest, mean and highest value by row and column of a window, as the server sends them; NaN: no value so far. */
interface Curves {
  index: Map<string, number>; // number of each row by its key
  low: ArrayLike<number>;
  mean: ArrayLike<number>;
  high: ArrayLike<number>;
  bins: number;
  begin: number; // ns
  end: number;
  name: string;
  unit: string;
  scale: {least: number, most: number}; // of all rows
}

/** The times of rows, as the server sends them (timeline/off_core.py). */
interface OffCore {
  index: Map<string, number>; // number of each row by its key
  columns: Record<string, ArrayLike<number>>; // ready and blocked by row and bin; single times
  texts: string[];
  bins: number;
  begin: number; // ns
  end: number;
}

/** By class and column, 1: the time of all rows; waits: the part of a class in calls that wait, as far as tiles know. */
type Overview = {classes: Float32Array[], waits: Float32Array[]};

/** The rare calls of rows, as the server sends them, ascending by row and time. */
interface Rare {
  index: Map<string, number>; // number of each row by its key
  columns: Record<string, ArrayLike<number>>; // row, kind, location, begin, end, depth, region, size
}

interface Row {
  trace: number;
  key: string; // the row's name on the server: l3, p0, n1, r0-7_9-9
  name: string;
  location: number; // of a row with one location, else -1
  places: number[]; // of the row's locations in the order of the trace
  finest: number; // level of tiles
  alike?: number; // rows for which this row stands
  members?: Row[]; // all rows that are alike, this one first
}

/** Times of locations in a window, one location after the other, ns (timeline/panel_data.py). */
interface Sums {
  key: string; // of the request
  text: string; // of the search
  exact: boolean;
  length: number; // of the window
  kinds: ArrayLike<number>; // by class in calls that work, then by class in calls that wait
  regions: ArrayLike<number>; // in the regions with the most time
  found: ArrayLike<number>; // in the regions that a search finds
}

/** The rows of a trace, as the server describes them. */
interface TraceRows {
  locations: number[];
  names: string[];
  processes: number[];
  process_names: Record<string, string>;
  process_nodes: Record<string, number>;
  nodes: string[];
}

type Fold = 'thread' | 'process' | 'node';

/** The functions of rows by bins of a window, as the server sends them. */
interface Leaves {
  index: Map<string, number>; // number of each row by its key
  region: ArrayLike<number>; // by row and bin: 1 + row of the function, 0: none
  bins: number;
  begin: number; // ns
  end: number;
}

type CallName = {trace: number, location: number, begin: number, depth: number};
type SampleName = {trace: number, location: number, time: number};
/** First, last: keys of rows, the same for all that the page selects; '': all rows. */
type SelectedPart = {begin: number, end: number, first: string, last: string} | null;
/** Row: a key. */
type Note = {trace: number, time: number, row: string, text: string};

interface State {
  begin: number; // ns, of the window
  end: number;
  fold: Fold;
  open: number[]; // processes whose folding differs from `fold`
  order: string; // of rows: c1: by time in class 1, wait, found, alike; '': by rank
  apart: string[]; // rows whose clusters are not joined: trace and key
  pins: string[]; // rows and processes at the top: trace and key, as in `row`
  zoom: number; // factor of the height of rows; 1: all rows fit
  scroll: number; // px
  row: string; // trace and key of the selected row: 0:l3
  selection: SelectedPart;
  picks: string[]; // picked rows, of one location each: trace and key, as in `row`
  between: boolean; // true: only messages between picked rows
  notes: Note[];
  call: CallName | null;
  sample: SampleName | null; // a selected sample; then no call is selected
  search: string;
  exact: boolean; // true if the search is the whole name of a region
  colour: 'class' | 'region' | 'wait' | 'heat' | 'counter';
  messages: 'auto' | 'lines' | 'none'; // auto: as their density allows
  collectives: 'auto' | 'bands' | 'none'; // auto: between the rows; bands: over the rows
  counters: boolean;
  samples: boolean;
  processor: boolean; // times in which threads waited for a processor or slept
  curve: string; // name of the counter below all rows, '' for none
  rare: 'auto' | 'all' | 'none'; // marks of outliers and waits; all: also the marks that take long to find
  smallest: number; // least bytes of a shown message
  tag: string;
  comm: number;
  finding: string; // the open finding: trace, and a number made of its text; '': none
  panel: string;
  shift: number[]; // of each trace, ns
  align: string; // number and region of the call at which traces are aligned: 2*MPI_Barrier
}

/** For code that reads any column. */
type Column = Float64Array;

type Table = {columns: Record<string, Column>, notes: any};

/** A tile of one row: 256 bins. */
interface Tile {
  region: Uint32Array; // 1 + row of the region with the most time, 0: none
  share: Uint8Array; // the region's share of the time; 255: all
  events: Uint32Array;
  classes: [number, Uint8Array][]; // shares of the classes with time
  waiting: [number, Uint8Array][]; // shares of the classes in calls that wait
  best: Uint8Array; // the class with the most time
  idles: Uint8Array; // 1: this class mostly waits
  total: Uint8Array; // share of all classes
}

/** The calls of a row in a tile's time. */
interface Calls {
  begin: Float64Array;
  end: Float64Array;
  region: Int32Array;
  depth: Int32Array;
  calls?: Int32Array; // their number in each piece: short ones share a piece
}

type Child = Node | string | number | null | undefined | false;

interface Heat {
  id: string;
  label: string; // of the picture for screen readers
  axes: [string, string]; // of the rows and of the columns
  down: number; // number of rows
  across: number; // number of columns
  values: number[]; // (down, across), row by row; NaN: no cell
  text: (value: number) => string;
  numbers: [(row: number) => string, (column: number) => string]; // at the axes
  name: (row: number, column: number) => string;
  markedRows: Set<number>;
  markedColumns: Set<number>;
  press: (row: number, column: number) => void;
}

interface TableColumn {
  head: string;
  title?: string;
  unit?: string; // of the values in a copied table
  tight?: boolean; // short words, which are never cut
  hidden?: boolean; // only in a copied or saved table
  value: (row: number) => number | string; // the value to sort by
  raw?: (row: number) => number | string; // the value to copy, if it differs
  show?: (row: number) => Child;
}

/** A window of time, ns. */
type Span = {begin: number, end: number};

/** Calls of the stack with one name. */
type Run = {at: number, x0: number, x1: number, y: number, count: number, thin: boolean};

/** The place of a stack in the pane. */
interface Pane {
  top: number;
  bottom: number;
  left: number;
  width: number;
  x: (time: number) => number;
  hidden?: number; // outermost levels that are left out
}

/** The place of a tile: bins, and px. */
type Place = {first: number, last: number, wide: number, zero: number, low: number, high: number};

type Region = {name: string, file: string, line: number, activity: string, description: string};

/** A request for the messages of a saved page. */
interface Asked {
  rows: Map<number, number>; // the row of each location
  from: number;
  to: number;
  lines: number;
  smallest: number;
  tag: string;
  comm: number;
}

/** The parts of a saved page: begin and size of each by its name. */
type Packed = {places: Record<string, [number, number]>, bytes: Uint8Array};

/** A call, in short. */
type Brief = {location: number, begin: number, end: number, region: number, depth: number, name: string};

/** A request for tiles or calls. */
type Job = {group: string, what: 'tiles' | 'calls', level: number, number: number, rows: string[]};

/** Far: the time of the other end; -1, unknown so far. */
type MessageEnd = {partner: number, comm: number, tag: number, time: number, far: number};

type Pinned = Pick<Row, 'trace' | 'key' | 'places'>;

type Panel = (app: App, table: Table, trace: number) => Node;

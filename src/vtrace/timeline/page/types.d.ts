// SPDX-License-Identifier: BSD-3-Clause
// The types that several modules of the page share. Only the checker of types reads them (jsconfig.json).

type App = import('./app.js').App;
type CanvasSurface = import('./draw/surface.js').CanvasSurface;
type Client = import('./net/client.js').Client;
type Places = import('./draw/labels.js').Places;
type Ints = Record<string, Float64Array>; // columns of a part of a saved page
type Regions = import('./net/regions.js').Regions;
type SavedAnswers = Record<string, (client: import('./net/saved.js').SavedClient, trace: number, words: any) => Promise<any>>;
type SavedClient = import('./net/saved.js').SavedClient;
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
  stacks?: Map<string, Calls>; // of rows with a stack in the pane
  cut?: boolean; // the window has too many calls for a stack
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

/** A trace on the screen. */
interface View {
  app: App;
  l: Layout;
  trace: number;
  of: TraceData;
  part: Part;
  state: State;
  scroll: number;
  rowOf: Map<number, number>; // row of a location
  window: Span;
  level: number; // of tiles
  x: (time: number) => number;
  paint: Paint;
  paper: any; // colours
}

/** A box that shows a window of time. */
type PlacedWindow = Span & {left: number, width: number};

/** The place of a row's colours, px, and the window, ns. */
type RowBox = PlacedWindow & {y: number, h: number};

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

/** The pane of the selected row, and of picked rows. */
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
  colour: 'class' | 'region' | 'wait' | 'work' | 'heat' | 'counter';
  own: ((region: number) => number | undefined) | null; // a region's colour: chosen, or its annotation's
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
  /** Lines as x0, y0, x1, y1 ..., painted at once, so that lines on top of one another cover no more than one. */
  strokes: (ends: number[], colour: number, width: number, alpha: number) => void;
  widthOf: (text: string, size?: number) => number; // px
  text: (text: string, x: number, y: number, colour: number, room?: number, size?: number) => void;
}

/** Values by row and bin of a window. */
interface PlacedBins {
  index: Map<string, number>; // number of each row by its key
  bins: number;
  begin: number; // ns
  end: number;
}

/** Lowest, mean and highest value by row and column of a window, as the server sends them; NaN: no value so far. */
interface Curves extends PlacedBins {
  low: ArrayLike<number>;
  mean: ArrayLike<number>;
  high: ArrayLike<number>;
  name: string;
  unit: string;
  scale: {least: number, most: number}; // of all rows
}

/** The times of rows, as the server sends them (timeline/off_core.py). */
interface OffCore extends PlacedBins {
  columns: Record<string, ArrayLike<number>>; // ready and blocked by row and bin; single times
  texts: string[];
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
  work: {shares: number[], least: number, most: number}; // parts of the window in which locations compute
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
interface Leaves extends PlacedBins {
  region: ArrayLike<number>; // by row and bin: 1 + row of the function, 0: none
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
  colour: 'class' | 'region' | 'wait' | 'work' | 'heat' | 'counter';
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
type MessageEnd = {partner: number, comm: number, tag: number, time: number, far: number, bytes: number};

/** A call as the server describes it. */
interface CallFacts extends Brief {
  exclusive: number;
  calls: number; // polls that this one stands for
  number?: number; // of the calls of the region on the row, which are `of`
  of?: number;
  children?: number;
  source: Region;
  caller?: Brief;
  values: [string, string][];
  waits: {time: number, kind: string, partner: number}[];
  sends: MessageEnd[];
  receives: MessageEnd[];
  collectives: {op: string, comm: number, begin: number, end: number, last: number, last_begin: number, locations: number, sent: number, received: number}[];
}

type Frame = {name: string, file: string, line: number, activity: string};

/** A sample as the server describes it. */
type SampleFacts = {path: Frame[], location: number, time: number, weight: number, exact: boolean, source: string, inside: string};

type Pinned = Pick<Row, 'trace' | 'key' | 'places'>;

type Panel = (app: App, table: Table, trace: number) => Node;

/** All rows of a trace in their order, and the ones last shown. */
type ArrangedRows = {key: string, pinned: Row[], others: Row[], shown?: {key: number, rows: Row[], id: string, pinned: number, scrolled: number}};
/** The value of the sums of a cell, the value as text. */
type Metric = [(count: number, bytes: number, ns: number) => number, (value: number) => string];
/** Ink: the colour of a name; places: those of all labels. */
type LabelWays = {name: (region: number) => string, ink: (region: number, ns: number) => number, places: Places};
/** InOrder: the heads sort nothing. */
type TableWays = {inOrder?: boolean, sort?: number, press?: (row: number) => void, id?: string, marked?: (row: number) => boolean};
/** Depth: -1 for a sample. */
type Selected = {trace: number, location: number, time: number, end: number, depth: number, paper: any};
/** Call paths, parents before children. */
type Paths = {parent: ArrayLike<number>, inclusive: ArrayLike<number>, depth: ArrayLike<number>};
type AddressWord = [keyof State, (value: any) => string, (text: string) => unknown];
type FoundCall = {location: number, begin: number, end: number, depth: number} | null | undefined;
type Stacks = {begin: ArrayLike<number>, end: ArrayLike<number>, depth: ArrayLike<number>};
/** None: of bins without a value. */
type Resampling = {rows: {unit: number}[][], known: (value: number) => boolean, none: number};
type SavedHead = {state: string, traces: any[], parts: Record<string, [number, number]>};
type Press = {x: number, y: number, pan: boolean, begin: number, end: number};
/** Y: of the base line. */
type LabelPlace = {x: number, y: number, colour: number, room?: number, size?: number};
type KeptSums = {key: string, covered: number, sums: Overview};
/** High: px of a row; area: px of all rows; ends: x0, y0, x1, y1 of each line. */
type Density = {high: number, area: number, ends: number[], bundled: boolean};
type Band = {at: number, x0: number, x1: number, y0: number, y1: number};
type StripPlace = {x0: number, wide: number, top: number, room: number};

type Point = {x: number, y: number};

/** A finding as the server describes it; guilty, losers: locations. */
interface Finding {
  text: string;
  region: string;
  own: boolean; // the region is of the program
  start: number | null;
  stop: number | null;
  guilty: number[];
  losers: number[];
  [name: string]: any;
}

/** From the row that comes late, at this time, to the calls that wait for it. */
type Delay = {call: CallName, from: {location: number, time: number}, waits: {location: number, begin: number}[]};

type ColumnOf = (head: string, value: (row: number) => number, more?: Partial<TableColumn>) => TableColumn;
type Asking<T> = (name: string, words: Record<string, any>, purpose?: string | AbortController) => Promise<T>;
type OfRow<T> = (l: Layout, scroll: number, part: Part, row: number) => T;

// Functions of several parameters, by their names.

type ViewOf = (app: App, l: Layout, trace: number, paper: any) => View;
type DrawTimes = (s: Surface, v: View, row: Row, place: RowBox, window: Span) => void;
type DrawDelay = (app: App, s: CanvasSurface, l: Layout, delay: Delay, paper: any) => void;
/** wanted: height of the pane's contents, px */
type LayoutOf = (state: State, traces: TraceData[], width: number, height: number, wanted: number) => Layout;
/** returns false: too many to draw */
type DrawMessages = (s: Surface, v: View, table: Table, choice: 'auto' | 'lines' | 'none', labels: Places) => boolean;
type DrawBundles = (s: Surface, v: View, table: Table, drawn: {ends: number[], places: number[], labels: Places}) => void;
type Hatched = (s: Surface, x: number, y: number, w: number, h: number, paper: any) => void;
type DrawLength = (s: Surface, l: Layout, at: {x0: number, x1: number, text: string, paper: any}) => void;
/** scale: px a ns */
type Mark = (s: CanvasSurface, ticks: Record<string, Column>, place: {x0: number, top: number}, scale: number, paper: any) => void;
/** colours: of classes */
type PaintStrip = (s: CanvasSurface, sums: Overview, place: StripPlace, colours: number[], paper: any) => void;
/** key: of the row */
type DrawOffCore = (s: Surface, paper: any, off: OffCore | undefined, key: string, row: RowBox) => void;
type ThickTile = (s: Surface, paint: Paint, tile: Tile, place: Place, row: {y: number, h: number}) => void;
type EndRun = (s: Surface, run: {x: number, end: number, colour: number}, row: {y: number, h: number}) => void;
type PaintColumn = (s: Surface, paint: Paint, column: PixelColumn, row: {y: number, h: number}) => void;
/** from: ns: the part to draw */
type DrawCalls = (s: Surface, paint: Paint, calls: Calls, row: RowBox, from: number, to: number) => void;
/** pieces: in the order of time; how: ink: the colour of a name; places: those of all labels */
type LabelCalls = (s: Surface, pieces: {tile: Calls, from: number}[], row: RowBox, how: LabelWays) => void;
/** key: of the row */
type DrawCurve = (s: Surface, paper: any, curves: Curves, key: string, row: RowBox, thin?: boolean) => void;
/** key: of the row; every: thin rows have all marks */
type DrawRare = (s: Surface, paper: {outlier: number, wait: number}, rare: Rare | undefined, key: string, row: RowBox & {edge: number, edgeY: number}, every?: boolean) => void;
/** key: of the row; from: ns: the part to draw */
type DrawLeaves = (s: Surface, v: View, key: string, row: RowBox, from: number, to: number) => void;
/** each: called for each call on the screen */
type OnScreen = (calls: Calls, pane: Pane, each: (at: number, x0: number, x1: number, y: number) => void) => void;
type LabelStack = (s: Surface, paint: Paint, calls: Calls, pane: Pane, name: (region: number) => string) => void;
/** slack: ns; step: -1, 0, 1 */
type ChooseSample = (app: App, trace: number, location: number, time: number, slack: number, step?: number) => Promise<void>;
type ValuesOf = (text: string, traces?: number, classes?: number) => Partial<State>;
type Chosen = (state: State, of: TraceRows, trace: number, duration: number) => {from: number, to: number, rows: string};
/** returns undefined: no values */
type ValueAt = (curves: Curves | undefined, key: string, time: number) => {low: number, mean: number, high: number} | undefined;
/** choice: of the person; at: high: px of a row; area: px of all rows; ends: x0, y0, x1, y1 of each line */
type MessagesAs = (choice: 'auto' | 'lines' | 'none', at: Density) => 'lines' | 'faint' | 'none';
type SharesOf = (off: OffCore, key: string, kind: number) => [number, number, number][];
/** order: c1: by time in class 1, wait, found, alike; '': as they are; sums: undefined: not known so far; apart: trace and key of rows that are joined with none */
type InOrder = (rows: Row[], of: TraceRows, order: string, sums: Sums | undefined, apart: string[]) => Row[];
/** rows: the tiles of each row; length: ns of the run; weights: of the rows */
type OverviewOf = (rows: Piece<any>[][], length: number, classes: number, weights?: number[]) => Overview;
type RareAt = (rare: Rare | undefined, key: string, time: number, slack: number) => number;
/** finest: by place; open: processes that are unfolded although fold says process, and folded for thread */
type RowsOf = (rows: TraceRows, finest: number[], fold: Fold, open: ReadonlySet<number>, trace: number) => Row[];
/** most: lines */
type TicksOf = (begin: number, end: number, most: number) => {time: number, text: string}[];
type Described = (client: SavedClient, trace: number, words: {location: number, begin: number, depth: number}) => Promise<any>;
type Operations = (client: SavedClient, trace: number, call: {location: number, begin: number, end: number}) => Promise<any[]>;
/** c: the columns of saved bundles; rowOf: the row of each unit */
type BundlesOf = (c: Record<string, Float64Array>, rowOf: Map<number, number>, asked: Asked) => Table;
/** units: of the file; number: of the tile; rows: the units of each row, and their locations in the row; returns undefined if the file does not have the tile */
type TilesOf = (level: {ints: Ints, notes: any}, units: number, number: number, rows: {unit: number, size: number}[][]) => Table | undefined;
/** bins: in the file; how: none: of bins without a value */
type Resampled = (values: ArrayLike<number>, bins: number, saved: {from: number, to: number}, asked: {from: number, to: number, bins: number}, how: Resampling) => Float64Array;
type Choice = (id: string, label: string, items: [string, string][], value: string, change: (value: string) => void) => any;
type MessagesOf = (app: App, ends: MessageEnd[], trace: number, word: string, way: string) => any[];
/** width: px; 0: as the style says; height: px */
type Plot = (width: number, height: number, draw: (s: CanvasSurface, paper: any) => void, more: Record<string, any>) => HTMLCanvasElement;
/** between: shows only messages between them */
type PickProcesses = (app: App, trace: number, processes: number[], between: boolean) => void;
type DrawStrip = (s: Surface, paper: any, c: Record<string, any>, slow: Set<unknown>, median: number) => void;
type WithNames = (app: App, trace: number, regions: ArrayLike<number>, draw: () => Node) => any;
type PaintOf = (app: App, trace: number, paper: any) => Paint;
type FreshPaint = (app: App, trace: number, paper: any) => Paint;
type DrawAbove = (s: Surface, views: View[], l: Layout, paper: any) => void;
type DrawChosen = (app: App, s: CanvasSurface, l: Layout, paper: any) => void;
/** at: y: of the base line */
type LabelOf = (s: Surface, places: Places, text: string, at: LabelPlace) => boolean;
type RowAtPoint = (l: Layout, scroll: number, y: number) => Row | undefined;
type BandsOf = (v: View, table: Table, pinned: boolean) => Band[];
type FillBands = (s: Surface, v: View, table: Table, pinned: boolean) => void;
type DrawCollectives = (s: Surface, v: View, table: Table, labels: Places) => void;
/** what: depth: -1 for a sample */
type DrawSelected = (app: App, s: CanvasSurface, l: Layout, what: Selected) => void;
type DrawOverview = (app: App, s: CanvasSurface, at: {l: Layout, height: number}) => void;
type DrawTile = (s: Surface, paint: Paint, part: Piece<Tile>, row: RowBox) => void;
/** top: the region with the most time of all; waits: 1: the colour of calls that wait */
type ClassColour = (paint: Paint, number: number, top: number, waits: number) => number;
type FillStack = (s: Surface, paint: Paint, calls: Calls, pane: Pane) => void;
/** slack: ns */
type StackCall = (calls: Calls, time: number, depth: number, slack: number) => number;
type DrawCounters = (s: Surface, table: Table, pane: Pane, paper: any) => void;
type Fitting = (text: string, room: number, measure: (text: string) => number) => string;
type ChooseAt = (app: App, trace: number, location: number, time: number) => Promise<void>;
/** whole: with its process */
type TogglePin = (app: App, row: Pinned | undefined, whole?: boolean) => void;
type RareText = (app: App, row: Row, time: number, perPixel: number) => string;
/** slack: ns */
type ChooseRare = (app: App, row: Row, time: number, slack: number) => Promise<boolean>;
type ValueText = (curves: Curves | undefined, key: string, time: number) => string;
/** paths: parents before children; root: the path whose children fill the width */
type Boxes = (paths: Paths, root: number, least: number) => FlameBox[];
type OffCoreText = (off: OffCore | undefined, key: string, time: number) => string;
/** shares: by row and region */
type Joined = (rows: Row[], shares: Float64Array[], apart: ReadonlySet<string>) => Row[];
/** shares: by row and region */
type Clusters = (shares: Float64Array[], near: number) => number[][];
type TickText = (ticks: Table | undefined, time: number, slack: number) => string;
/** kind: below 4 */
type IsFirst = (seen: Set<number>, row: number, x: number, kind: number) => boolean;
type RowAt = (y: number, high: number, scroll: number, count: number) => number;
type Runs = (leaves: Leaves, key: string) => (Span & {region: number})[];
type BinAt = (of: PlacedBins | undefined, key: string, time: number) => number;
type BundledOf = (parts: Bundle[], window: {from: number, to: number}, notes: any) => Table;
type Collective = (app: App, one: CallFacts['collectives'][0], trace: number) => any;
type SideBySide = (app: App, trace: number, found: Table, place: Element) => Promise<void>;
/** sums: number, bytes, ns of each pair */
type Cells = (row: ArrayLike<number>, column: ArrayLike<number>, sums: ArrayLike<number>[], down: number, across: number, metric: string) => number[];
type Meanings = (app: App, paper: any, classes: number[]) => [number, string][];
type TableOf = (every: TableColumn[], rows: number, more?: TableWays) => any;

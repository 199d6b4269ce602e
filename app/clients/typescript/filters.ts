/**
 * What the types of calls are made of: the rows of a model as they are read and written, its
 * properties by kind, and its relations.
 */
export interface ModelTypes {
  row: object;
  create: object;
  update: object;
  replace: object;
  upsert: object;
  id: string | number;
  properties: object;
  relations: object;
  /** Properties that rows do not show where they are included. */
  protected: string;
}

/** The rows of a model, as they are read and written; most have an id of its own. */
export interface Rows<
  Row,
  Create,
  Update,
  Replace = Create,
  Protected extends string = never,
  Id = Row extends { id: infer I extends string | number } ? I : string | number,
> {
  row: Row;
  create: Create;
  update: Update;
  replace: Replace;
  upsert: Update & (Row extends { id: infer I } ? { id?: I } : unknown);
  id: Id;
  protected: Protected;
  relations: {};
}

/** A relation to one row, and to many; others filters cannot use. */
export interface One<M extends ModelTypes> {
  to: M;
  many: false;
  filters: true;
}
export interface Many<M extends ModelTypes> {
  to: M;
  many: true;
  filters: true;
}
export interface Included<M extends ModelTypes, IsMany extends boolean> {
  to: M;
  many: IsMany;
  filters: false;
}
/** A relation to objects that the row itself has. */
export interface Embedded<ValueOf> {
  value: ValueOf;
}

type Compared<T> = {
  eq?: T | null;
  neq?: T | null;
  inq?: readonly (T | null)[];
  nin?: readonly (T | null)[];
  exists?: boolean;
};
type Ordered<T> = Compared<T> & { gt?: T; gte?: T; lt?: T; lte?: T; between?: readonly [T, T] };
type Matched<T> = Ordered<T> & {
  like?: string;
  nlike?: string;
  ilike?: string;
  nilike?: string;
  regexp?: string;
  iregexp?: string;
  /** With "i", `like`, `nlike` and `regexp` ignore the case. */
  options?: "i";
};
interface Present {
  eq?: null;
  neq?: null;
  exists?: boolean;
}
interface Near extends Present {
  near?: { lat: number; lng: number } | string;
  maxDistance?: number;
  minDistance?: number;
  unit?: "miles" | "kilometers" | "meters" | "feet" | "radians" | "degrees";
}
/** Kinds of properties: whole numbers that are ids, and values that are only equal or not. */
type Scalar = "text" | "number" | "id" | "value" | "time" | "date";

/** A condition on a property of a kind, whose values are T. */
type Condition<T, Kind> = Kind extends "text"
  ? T | null | Matched<T>
  : Kind extends Scalar
    ? T | null | Ordered<T>
    : Kind extends "list"
      ? T extends readonly (infer Item)[]
        ? Item | null | Compared<Item>
        : never
      : Kind extends "position"
        ? null | Near
        : Kind extends "object"
          ? null | Present
          : Kind;

type Names<M extends ModelTypes, Kind = unknown> = {
  [N in keyof M["properties"]]: M["properties"][N] extends Kind ? N : never;
}[keyof M["properties"]] &
  string;
type TargetOf<M extends ModelTypes, R extends keyof M["relations"]> = M["relations"][R] extends {
  to: infer T extends ModelTypes;
}
  ? T
  : never;
/** The names of relations that filters may use; with false, only those to one row. */
type FilterNames<M extends ModelTypes, IsMany extends boolean = boolean> = {
  [R in keyof M["relations"]]: M["relations"][R] extends { filters: true; many: IsMany }
    ? R
    : never;
}[keyof M["relations"]] &
  string;
type ValueOf<M extends ModelTypes, N> = N extends keyof M["row"]
  ? NonNullable<M["row"][N]>
  : unknown;
type Plain = string | number | boolean;

/** Which rows: conditions on properties, on related rows, and on values inside objects by path. */
export type Where<M extends ModelTypes> = WhereWithout<M, never>;
type WhereWithout<M extends ModelTypes, Hidden> = {
  [N in Exclude<Names<M>, Hidden>]?: Condition<
    ValueOf<M, N>,
    M["properties"][N & keyof M["properties"]]
  >;
} & Some<{
  [P in `${Exclude<Names<M, "object">, Hidden>}.${string}`]?: Plain | null | Matched<Plain>;
}> &
  Some<{
    [R in Exclude<FilterNames<M>, Hidden>]?: RelatedWhere<M["relations"][R], TargetOf<M, R>>;
  }> & {
    and?: readonly WhereWithout<M, Hidden>[];
    or?: readonly WhereWithout<M, Hidden>[];
  } & (M extends { open: true } ? { [name: string]: unknown } : unknown);
/** An object without properties would allow any. */
type Some<T> = keyof T extends never ? unknown : T;
type RelatedWhere<R, T extends ModelTypes> =
  | WhereWithout<T, T["protected"]>
  | (R extends { many: true }
      ? {
          some?: WhereWithout<T, T["protected"]>;
          none?: WhereWithout<T, T["protected"]>;
          every?: WhereWithout<T, T["protected"]>;
          exists?: boolean;
        }
      : { exists?: boolean });

/** Names of properties of some kinds, also of relations to one row, up to two steps away. */
type Paths<M extends ModelTypes, Kind> = Names<M, Kind> | Steps<M, StepNames<M, Kind>>;
type StepNames<M extends ModelTypes, Kind> = {
  [R in FilterNames<M, false>]:
    Shown<TargetOf<M, R>, Kind> | Steps<TargetOf<M, R>, NextNames<TargetOf<M, R>, Kind>>;
};
type NextNames<M extends ModelTypes, Kind> = {
  [R in FilterNames<M, false>]: Shown<TargetOf<M, R>, Kind>;
};
type Steps<M extends ModelTypes, Found extends Record<string, string>> = {
  [R in keyof Found & string]: `${R}.${Found[R]}`;
}[keyof Found & string];
type Shown<M extends ModelTypes, Kind> = Exclude<Names<M, Kind>, M["protected"]>;

type Directed<N extends string> = N | `${N} ASC` | `${N} DESC`;
type OrderBy<N extends string> = Directed<N> | readonly Directed<N>[];
/** What a list may be ordered by. */
type OrderNames<M extends ModelTypes> =
  | Paths<M, Scalar>
  | `${Names<M, "object">}.${string}`
  | (M extends { open: true } ? string : never);

/** The properties of the answer: those that are named or true, or all but those that are false. */
type Fields<M extends ModelTypes> = readonly Names<M>[] | { readonly [N in Names<M>]?: boolean };
type Include<M extends ModelTypes> = {
  [R in keyof M["relations"] & string]:
    R | { readonly relation: R; readonly scope?: ScopeFilter<TargetOf<M, R>> };
}[keyof M["relations"] & string];
type Includes<M extends ModelTypes> = readonly Include<M>[];
/** An inferred `include`, without the unknown names that the compiler allows in inferred types. */
type Checked<M extends ModelTypes, I> = I & {
  readonly [K in keyof I]: I[K] extends { relation: infer R extends keyof M["relations"] & string }
    ? { readonly relation: R; readonly scope?: CheckedScope<TargetOf<M, R>, ScopeOf<I[K]>> } & None<
        Exclude<keyof I[K], "relation" | "scope">
      >
    : unknown;
};
type CheckedScope<M extends ModelTypes, S> = Filter<M> &
  None<Exclude<keyof S, keyof Filter<M>>> &
  (S extends { where: infer W }
    ? { readonly where?: None<Exclude<keyof W, keyof Where<M>>> }
    : unknown) &
  (S extends { include: infer I } ? { readonly include?: Checked<M, I> } : unknown);
type None<N extends PropertyKey> = { readonly [P in N]?: NoSuchName };
/** What no value is, so that the name of a value is an error. */
interface NoSuchName {
  readonly noSuchName: never;
}

/** Which rows are shown, in which order, with which properties and related rows. */
interface ScopeFilter<M extends ModelTypes, I = Includes<M>, F = Fields<M>> {
  readonly where?: Where<M>;
  readonly order?: OrderBy<OrderNames<M>>;
  readonly limit?: number;
  readonly skip?: number;
  readonly fields?: F;
  readonly include?: I;
}
/** What is listed. A page begins `after` a cursor, as it is in the `Link` of the one before it. */
export interface Filter<
  M extends ModelTypes,
  I = Includes<M>,
  F = Fields<M>,
> extends ScopeFilter<M, I, F> {
  readonly after?: string;
}
/** What is shown of one row. */
export type RowFilter<M extends ModelTypes, I = Includes<M>, F = Fields<M>> = Pick<
  Filter<M, I, F>,
  "fields" | "include"
>;

type Flat<T> = { [N in keyof T]: T[N] } & {};
/** A row as a filter with these `include` and `fields` shows it. */
export type Found<M extends ModelTypes, I = [], F = undefined> = I extends readonly []
  ? Selected<M, F>
  : I extends readonly unknown[]
    ? Flat<Selected<M, F> & IncludedRows<M, I>>
    : Selected<M, F>;
type Selected<M extends ModelTypes, F> = [F] extends [undefined]
  ? M["row"]
  : F extends readonly (infer N)[]
    ? number extends F["length"]
      ? Partial<M["row"]>
      : Flat<Pick<M["row"], N & keyof M["row"]>>
    : true extends { [N in keyof F]: boolean extends F[N] ? true : false }[keyof F]
      ? Partial<M["row"]>
      : true extends F[keyof F]
        ? Flat<Pick<M["row"], NamesOf<F, true> & keyof M["row"]>>
        : Flat<Omit<M["row"], NamesOf<F, false>>>;
type NamesOf<F, V> = { [N in keyof F]: F[N] extends V ? N : never }[keyof F];

type IncludedRows<M extends ModelTypes, I extends readonly unknown[]> = number extends I["length"]
  ? { [R in keyof M["relations"]]?: IncludedValue<M["relations"][R], unknown> }
  : {
      [E in I[number] as ToMany<M, E>]: IncludedValue<M["relations"][ToMany<M, E>], ScopeOf<E>>;
    } & {
      // There may be no row, or none that the caller may read.
      [E in I[number] as ToOne<M, E>]?: IncludedValue<M["relations"][ToOne<M, E>], ScopeOf<E>>;
    };
type RelationOf<E> = E extends { relation: infer R } ? R : E;
type ScopeOf<E> = E extends { scope: infer S } ? S : unknown;
type ToMany<M extends ModelTypes, E> =
  RelationOf<E> extends infer R extends keyof M["relations"]
    ? M["relations"][R] extends { many: false }
      ? never
      : R
    : never;
type ToOne<M extends ModelTypes, E> = Exclude<RelationOf<E> & keyof M["relations"], ToMany<M, E>>;
type IncludedValue<R, S> = R extends { to: infer T extends ModelTypes; many: infer IsMany }
  ? IsMany extends true
    ? IncludedRow<T, S>[]
    : IncludedRow<T, S>
  : R extends Embedded<infer V>
    ? V
    : never;
type IncludedRow<T extends ModelTypes, S> = T extends ModelTypes
  ? [T["protected"]] extends [never]
    ? Found<T, PartOf<S, "include", []>, PartOf<S, "fields", undefined>>
    : Omit<Found<T, PartOf<S, "include", []>, PartOf<S, "fields", undefined>>, T["protected"]>
  : never;
type PartOf<S, N extends string, Default> = S extends { [P in N]: infer V } ? V : Default;

type TimeUnit = "year" | "month" | "week" | "day" | "hour";
type GroupBy<M extends ModelTypes> = M extends { counted: true } ? never : AnyGroup<M>;
type AnyGroup<M extends ModelTypes> =
  | Paths<M, Scalar>
  | { readonly [N in Paths<M, "time">]?: TimeUnit }
  | { readonly [N in Paths<M, "date">]?: Exclude<TimeUnit, "hour"> };
type GroupsBy<M extends ModelTypes> = GroupBy<M> | readonly GroupBy<M>[];
/** If code of the service decides on what is shown of rows, only their number is computed. */
type Computed<M extends ModelTypes> = M extends { counted: true }
  ? { readonly count: "*" }
  : ComputedOf<M>;
type ComputedOf<M extends ModelTypes> =
  | { readonly count: "*" | Names<M> }
  | { readonly countDistinct: Names<M, Scalar> }
  | { readonly sum: Names<M, "number"> }
  | { readonly avg: Names<M, "number"> }
  | { readonly min: Names<M, Exclude<Scalar, "value">> }
  | { readonly max: Names<M, Exclude<Scalar, "value">> };
type Functions<M extends ModelTypes> = { readonly [name: string]: Computed<M> };

/** What is computed of the rows, by groups. */
export interface Aggregate<M extends ModelTypes, A = Functions<M>, G = GroupsBy<M>> {
  readonly where?: Where<M>;
  readonly groupBy?: G;
  readonly aggregate: A;
  readonly having?: Having<keyof Fixed<A> & string>;
  readonly order?: OrderBy<(keyof Fixed<A> & string) | GroupNames<Fixed<G>>>;
  readonly limit?: number;
  readonly skip?: number;
}
/** A type that is not inferred from here. */
type Fixed<T> = [T][T extends unknown ? 0 : never];
type Having<N extends string> = { readonly [P in N]?: Plain | null | Matched<Plain> } & {
  readonly and?: readonly Having<N>[];
  readonly or?: readonly Having<N>[];
};
type GroupName<G> = G extends string ? G : keyof G & string;
type GroupNames<G> = G extends readonly (infer Item)[] ? GroupName<Item> : GroupName<G>;
type ValueAt<M extends ModelTypes, P> = P extends keyof M["row"]
  ? M["row"][P]
  : P extends `${infer R}.${infer Rest}`
    ? R extends keyof M["relations"]
      ? ValueAt<TargetOf<M, R>, Rest> | null
      : never
    : never;
/** A group of an aggregate: its values, and what is computed. */
export type Aggregated<M extends ModelTypes, A, G> = Flat<
  { [P in GroupNames<G>]: ValueAt<M, P> } & {
    -readonly [N in keyof A]: A[N] extends { count: unknown } | { countDistinct: unknown }
      ? number
      : A[N] extends { [W in "sum" | "avg" | "min" | "max"]?: infer P }
        ? ValueOf<M, P> | null
        : never;
  }
>;

/** What `changes` yields: a row as it is now, a removed one, or that all must be read anew. */
export type Change<M extends ModelTypes> =
  | { type: "create" | "update"; target: M["id"]; data: M["row"] }
  | { type: "remove"; target: M["id"] }
  | { type: "resync" };
/** Follows the changes of the rows that a condition selects, until the loop ends. */
export type Changes<M extends ModelTypes> = (
  filter?: { where?: Where<M> },
  options?: CallOptions,
) => AsyncIterable<Change<M>>;
/** The calls of a collection of rows. */
export interface Collection<M extends ModelTypes> {
  /** List the rows that a filter selects, at most 1,000. */
  find<const I extends Includes<M> = [], const F extends Fields<M> | undefined = undefined>(
    filter?: Filter<M, Checked<M, I>, F>,
    options?: CallOptions,
  ): Promise<Found<M, I, F>[]>;
  /** Return all rows that a filter selects, page by page. */
  pages<const I extends Includes<M> = [], const F extends Fields<M> | undefined = undefined>(
    filter?: Filter<M, Checked<M, I>, F>,
    options?: CallOptions,
  ): AsyncIterable<Found<M, I, F>[]>;
  /** Return the first row that a filter selects. */
  findOne<const I extends Includes<M> = [], const F extends Fields<M> | undefined = undefined>(
    filter?: Filter<M, Checked<M, I>, F>,
    options?: CallOptions,
  ): Promise<Found<M, I, F>>;
  /** Return one row. */
  findById<const I extends Includes<M> = [], const F extends Fields<M> | undefined = undefined>(
    id: M["id"],
    filter?: RowFilter<M, Checked<M, I>, F>,
    options?: CallOptions,
  ): Promise<Found<M, I, F>>;
  count(where?: Where<M>, options?: CallOptions): Promise<number>;
  exists(id: M["id"], options?: CallOptions): Promise<boolean>;
  /** Compute counts, sums and other functions of the rows, by groups. */
  aggregate<const A extends Functions<M>, const G extends GroupsBy<M> = []>(
    aggregate: Aggregate<M, A, G>,
    options?: CallOptions,
  ): Promise<Aggregated<M, A, G>[]>;
  create(row: M["create"], options?: CallOptions): Promise<M["row"]>;
  /** Create all rows, or none. */
  createMany(rows: readonly M["create"][], options?: CallOptions): Promise<M["row"][]>;
  /** Change some properties of a row. */
  update(id: M["id"], changes: M["update"], options?: CallOptions): Promise<M["row"]>;
  /** Replace a row; properties that are not sent get their defaults. */
  replace(id: M["id"], row: M["replace"], options?: CallOptions): Promise<M["row"]>;
  /** Change the row whose id the body has; create one if it has none. */
  upsert(row: M["upsert"], options?: CallOptions): Promise<M["row"]>;
  replaceOrCreate(row: M["upsert"], options?: CallOptions): Promise<M["row"]>;
  /** Change the one row that a condition selects; create one if there is none. */
  upsertWithWhere(where: Where<M>, row: M["update"], options?: CallOptions): Promise<M["row"]>;
  /** Change every row that a condition selects; return their number. */
  updateAll(where: Where<M>, changes: M["update"], options?: CallOptions): Promise<number>;
  delete(id: M["id"], options?: CallOptions): Promise<void>;
}

/** The calls of the rows that belong to another; `Set` are properties that are set by it. */
export interface RelatedRows<M extends ModelTypes, Set extends string = never> extends Pick<
  Collection<M>,
  "find" | "pages" | "count" | "aggregate" | "delete"
> {
  create(row: Without<M["create"], Set>, options?: CallOptions): Promise<M["row"]>;
  createMany(
    rows: readonly Without<M["create"], Set>[],
    options?: CallOptions,
  ): Promise<M["row"][]>;
  deleteAll(options?: CallOptions): Promise<void>;
  findById(id: M["id"], options?: CallOptions): Promise<M["row"]>;
  update(id: M["id"], changes: M["update"], options?: CallOptions): Promise<M["row"]>;
}
/** The calls of rows that are linked to another by rows in between. */
export interface LinkedRows<M extends ModelTypes, Link = object> extends RelatedRows<M> {
  link(id: M["id"], properties?: Link, options?: CallOptions): Promise<void>;
  unlink(id: M["id"], options?: CallOptions): Promise<void>;
}
/** The calls of the one row that belongs to another, or that it belongs to. */
export interface RelatedRow<M extends ModelTypes, Set extends string = never> {
  get<const I extends Includes<M> = [], const F extends Fields<M> | undefined = undefined>(
    filter?: RowFilter<M, Checked<M, I>, F>,
    options?: CallOptions,
  ): Promise<Found<M, I, F>>;
  create(row: Without<M["create"], Set>, options?: CallOptions): Promise<M["row"]>;
  update(changes: M["update"], options?: CallOptions): Promise<M["row"]>;
  delete(options?: CallOptions): Promise<void>;
}
/** The call of the row that a row belongs to. */
export type ParentRow<M extends ModelTypes> = Pick<RelatedRow<M>, "get">;
type Without<T, Set extends string> = [Set] extends [never]
  ? T
  : Omit<T, Set> & Partial<Pick<T, Set & keyof T>>;

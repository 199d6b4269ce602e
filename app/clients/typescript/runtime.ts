/** How a client reaches the service. */
export interface ClientOptions {
  /** The URL of the API with its base path, such as `https://shop.example.com/api`, or `/api`. */
  baseUrl: string;
  /**
   * Where the access token is kept: in memory, which is the default, in `sessionStorage` or
   * another object with its methods, or with "cookie" in the cookie that the service sets.
   */
  storage?: "memory" | "cookie" | TokenStorage;
  /**
   * Called when the service refuses a call because its token is missing or no longer valid: once
   * for the calls of one moment, and not for its own.
   */
  onUnauthorized?: (error: ApiError) => unknown;
  /** Milliseconds until an attempt is given up; by default 30,000. */
  timeout?: number;
  /** How often a call that is safe to repeat is repeated; by default 2. */
  retries?: number;
}

/** What the token is kept in: `sessionStorage`, `localStorage` or an object like them. */
export interface TokenStorage {
  getItem(key: string): string | null | Promise<string | null>;
  setItem(key: string, value: string): void | Promise<void>;
  removeItem(key: string): void | Promise<void>;
}

/** What may be said of one call. */
export interface CallOptions {
  signal?: AbortSignal;
  /** Milliseconds until an attempt is given up, in place of the client's. */
  timeout?: number;
  retries?: number;
  headers?: Record<string, string>;
  /** The row as it was read, or its tag: if it has been changed since, the call is refused. */
  ifMatch?: object | string;
  /** A key of this call's own, so that it may be repeated, if the service takes keys. */
  idempotencyKey?: string;
  /** Called in browsers while a body is sent, with the bytes that are sent and all. */
  onProgress?: (sent: number, total: number) => void;
}

/** The body of an upload that is not a form. */
export type Binary = Blob | ArrayBuffer | Uint8Array;

/** Codes of errors that the service has not answered: it was not reached, or not in time. */
export type LocalErrorCode = "NETWORK_ERROR" | "TIMEOUT";

/** An error that the service has answered, or with the status 0, has not answered. */
export class ApiError extends Error {
  declare readonly status: number;
  /** The stable code; failures of the service itself have none. */
  declare readonly code: AnyErrorCode | undefined;
  /** What else there is to know of it; `has` tells its type. */
  declare readonly details: object;
  /** Seconds after which the call may be repeated, if the service says so. */
  declare readonly retryAfter: number | undefined;

  constructor(
    status: number,
    code: AnyErrorCode | undefined,
    message: string,
    details = {},
    retryAfter?: number,
  ) {
    super(message);
    Object.assign(this, { name: "ApiError", status, code, details, retryAfter });
  }

  /** Return true if this is the code; TypeScript then knows the details. */
  has<K extends AnyErrorCode>(code: K): this is ApiError & { code: K; details: DetailsOf<K> } {
    return this.code === code;
  }
}

type AnyErrorCode = ErrorCode | LocalErrorCode;
type DetailsOf<C> = C extends keyof ErrorDetails ? ErrorDetails[C] : object;

/** What every client has, besides the calls of the service. */
export interface ClientBase {
  /** The access token, unless a cookie has it. */
  getToken(): Promise<string | null>;
  setToken(token: string | null): Promise<void>;
}

/**
 * Return a property of a call's answer for another call of the same batch, which sends a reference
 * to it.
 */
export function result<T extends object, P extends keyof T & string>(
  call: Promise<T>,
  property: P,
): T[P] {
  return new CallReference(call, property) as unknown as T[P];
}

/** The names of the calls of a batch while it is made. */
const names = new Map<unknown, string>();

class CallReference {
  declare readonly call: Promise<unknown>;
  declare readonly property: string;

  constructor(call: Promise<unknown>, property: string) {
    Object.assign(this, { call, property });
  }

  get name(): string {
    if (!names.has(this.call)) throw new TypeError("A reference is to a call of its batch.");
    return `${names.get(this.call)}.${this.property}`;
  }

  /** Return the reference as it is in paths, and in bodies. */
  toString(): string {
    return `{${this.name}}`;
  }
  toJSON(): object {
    return { $result: this.name };
  }
}

/** One call, ready to be sent. */
interface PendingCall {
  verb: string;
  path: (string | CallReference)[];
  query: string;
  body: unknown;
  options: CallOptions;
  /** What is made of the answer. */
  reads: string;
  /** The token that it was sent with. */
  token?: string | null;
}

/** A request, and what of an answer is used, as `fetch` has them. */
type SentRequest = RequestInit & {
  method: string;
  headers: [string, string][];
  signal: AbortSignal;
};
type Received = { status: number; headers: [string, string][]; blob(): Promise<Blob> };

type SendCall = (build: () => PendingCall) => Promise<unknown>;
type BatchAnswers = { responses: { body: unknown; etag: string | null }[] };
type BatchBuilder = (calls: object) => readonly Promise<unknown>[];

/** The calls of a collection: verb, path, arguments, and after > what is made of the answer. */
interface CollectionCalls {
  path: string;
  /** Whether it has the calls of all collections of rows. */
  rows?: true;
  /** Relations, each to one row or to many. */
  relations?: Record<string, string>;
  own?: Record<string, string>;
  /** Calls about one row, by groups. */
  below?: Record<string, Record<string, string>>;
}

/** What only some services have: logins by providers, and keys by which calls may be repeated. */
interface ServiceFeatures {
  logins?: Record<string, string>;
  takesKeys?: boolean;
}

// The calls of all lists, of collections, of related rows, and of the one row of a relation.
const LISTS: Record<string, string> = {
  find: "GET / filter",
  pages: "GET / filter >pages",
  count: "GET /count where >count",
  aggregate: "GET /aggregate filter",
  create: "POST / body",
  createMany: "POST / body",
};
const ROWS: Record<string, string> = {
  ...LISTS,
  findOne: "GET /findOne filter",
  findById: "GET /{id} filter",
  exists: "GET /{id}/exists >exists",
  update: "PATCH /{id} body",
  replace: "POST /{id}/replace body",
  upsert: "PATCH / body",
  replaceOrCreate: "POST /replaceOrCreate body",
  upsertWithWhere: "POST /upsertWithWhere where body",
  updateAll: "POST /update where body >count",
  delete: "DELETE /{id} >nothing",
};
const RELATED: Record<string, string> = {
  ...LISTS,
  deleteAll: "DELETE / >nothing",
  findById: "GET /{fk}",
  update: "PUT /{fk} body",
  delete: "DELETE /{fk} >nothing",
  link: "PUT /rel/{fk} body >nothing",
  unlink: "DELETE /rel/{fk} >nothing",
};
const RELATED_ROW: Record<string, string> = {
  get: "GET / filter",
  create: "POST / body",
  update: "PUT / body",
  delete: "DELETE / >nothing",
};
// The key of the token in the storage.
const TOKEN = "access_token";
// The longest time, in seconds, that a call waits before it is repeated.
const MAX_WAIT = 30;
// The tags of rows that have been read.
const tags = new WeakMap<object, string>();

/** What is made of several answers, by what is made of each. */
const iterators: Record<string, (build: () => PendingCall, send: SendCall) => unknown> = {
  pages: readPages,
};

function makeClient(
  options: ClientOptions,
  table: Record<string, CollectionCalls>,
  { logins, takesKeys }: ServiceFeatures = {},
): object {
  const { send, url, ...tokens } = connect(options, takesKeys);
  return {
    ...makeCollections(table, async (build) => send(build())),
    batch: sendBatch.bind(null, send, table),
    loginUrl: (provider: string) => new URL(logins![provider]!, url("/")).href,
    ...tokens,
  };
}

function makeCollections(table: Record<string, CollectionCalls>, send: SendCall): object {
  return mapValues(table, ({ path, rows, relations = {}, own = {}, below = {} }) => ({
    ...makeCalls(path, { ...(rows && ROWS), ...own }, [], send),
    ...mapValues(relations, (text) => {
      const [kind, name] = text.split(" ");
      const texts = kind === "one" ? RELATED_ROW : RELATED;
      return (id: unknown) => makeCalls(`${path}/{id}/${name}`, texts, [id], send);
    }),
    ...mapValues(below, (texts) => (id: unknown) => makeCalls(path, texts, [id], send)),
  }));
}

function makeCalls(
  path: string,
  texts: Record<string, string>,
  ids: unknown[],
  send: SendCall,
): object {
  return mapValues(texts, (text) => {
    const [call, reads = ""] = text.split(" >") as [string, string?];
    const [verb, below, ...words] = call.split(" ") as [string, string, ...string[]];
    const parts = (path + below).replace(/\/$/, "").split(/\{[^}]+\}/);
    const build = (values: unknown[]): PendingCall => {
      const path = parts.flatMap((text, place) =>
        place ? [segment(values.shift()), text] : [text],
      );
      const query = new URLSearchParams();
      let body: unknown;
      for (const word of words) {
        const value = values.shift();
        if (word === "body") body = value;
        else if (word === "query") appendAll(query, (value ?? {}) as object);
        else if (value !== undefined) query.set(word, toJson(value, word === "where"));
      }
      const options = (values.shift() ?? {}) as CallOptions;
      return { verb, path, query: String(query) && `?${query}`, body, options, reads };
    };
    return (...given: unknown[]) => {
      const make = (): PendingCall => build([...ids, ...given]);
      return iterators[reads]?.(make, send) ?? send(make);
    };
  });
}

/** Return an argument as a segment of a path, which leads nowhere else. */
function segment(value: unknown): string | CallReference {
  if (value instanceof CallReference) return value;
  const text = /string|number/.test(typeof value) ? `${value}` : "";
  if (/^\.{0,2}$/.test(text)) throw new TypeError(`${value} is no id.`);
  return encodeURIComponent(text);
}

/** Add values to a query or a form, where lists without files are JSON. */
function appendAll<T extends URLSearchParams | FormData>(form: T, values: object): T {
  for (const [name, value] of Object.entries(values)) {
    for (const item of form instanceof FormData && !hasFile(value) ? [value] : [value].flat()) {
      const isRaw = typeof item === "string" || item instanceof Blob;
      // Dates are JSON without its quotes.
      if (item != null)
        form.append(name, isRaw ? (item as never) : toJson(item).replace(/"$|^"/g, ""));
    }
  }
  return form;
}

function hasFile(value: unknown): boolean {
  return [value].flat().some((item) => item instanceof Blob);
}

async function* readPages(build: () => PendingCall, send: SendCall): AsyncGenerator<unknown> {
  const call = build();
  for (let next: string | undefined = call.query; next !== undefined;) {
    call.query = next;
    const [rows, link] = (await send(() => call)) as [unknown, string | null];
    yield rows;
    // Only the query is followed, as the token is for this service alone.
    next = /<[^>?]*(\?[^>]*)>;\s*rel="?next/.exec(link ?? "")?.[1];
    if (next === call.query) return;
  }
}

/** Send what a function calls as one batch; return what it returns, of the answers. */
async function sendBatch(
  send: (call: PendingCall) => Promise<unknown>,
  table: Record<string, CollectionCalls>,
  build: BatchBuilder,
  options: CallOptions = {},
): Promise<unknown[]> {
  const calls: PendingCall[] = [];
  let start!: (answers: unknown) => void;
  const answers = new Promise<unknown>((resolve) => (start = resolve));
  const record = (make: () => PendingCall): Promise<unknown> => {
    if (Object.isFrozen(calls))
      return Promise.reject(new TypeError("A batch makes its calls at once."));
    // An error ends the function that makes the calls, and nothing is sent.
    const call = make();
    const place = calls.push(call) - 1;
    const part = answers.then((all) => {
      const { body, etag } = (all as BatchAnswers).responses[place]!;
      return read(call.reads, body, etag);
    });
    part.catch(() => {});
    names.set(part, `c${place}`);
    return part;
  };
  names.clear();
  const returned = build(makeCollections(table, record));
  Object.freeze(calls);
  const requests = calls.map(({ verb, path, query, body, options }, place) => ({
    id: `c${place}`,
    method: verb,
    path: path.join("") + query,
    body,
    ifMatch: options.ifMatch && tagOf(options.ifMatch),
  }));
  const body = JSON.parse(toJson({ requests }));
  names.clear();
  start(send({ verb: "POST", path: ["/batch"], query: "", body, options, reads: "" }));
  await answers;
  return Promise.all(returned);
}

/** Return what sends the calls of a client, and knows its token. */
function connect(options: ClientOptions, takesKeys?: boolean) {
  let storage = typeof options.storage === "object" ? options.storage : undefined;
  let token: string | null = null;
  // How often `onUnauthorized` was called; while it runs NaN, which equals nothing.
  let refusals = 0;

  async function getToken(): Promise<string | null> {
    return (await use((storage) => storage.getItem(TOKEN))) ?? token;
  }

  async function setToken(value: string | null): Promise<void> {
    await use((storage) =>
      value ? storage.setItem(TOKEN, value) : storage.removeItem(TOKEN),
    );
    if (!storage && options.storage !== "cookie") token = value;
  }

  /** Use the storage; one that fails, as in some private windows, is replaced by memory. */
  async function use<T>(action: (storage: TokenStorage) => T | Promise<T>): Promise<T | undefined> {
    try {
      return storage && (await action(storage));
    } catch {
      return (storage = undefined);
    }
  }

  /** Return the absolute URL of a path below the base path. */
  function url(path: string): string {
    return new URL(options.baseUrl.replace(/\/$/, "") + path, globalThis.location?.href).href;
  }

  async function send(call: PendingCall): Promise<unknown> {
    const { signal, retries = options.retries ?? 2, idempotencyKey } = call.options;
    const isSafe = call.verb === "GET" || (idempotencyKey && takesKeys);
    const before = refusals;
    for (let attempt = 0; ; attempt++) {
      try {
        return await answer(call);
      } catch (error) {
        const { status, retryAfter } = Object(error) as Partial<ApiError>;
        const wait = retryAfter ?? (status === 0 || status! > 501 ? 2 ** attempt / 4 : Infinity);
        if (!isSafe || attempt >= retries || wait > MAX_WAIT) {
          await note(call, error as ApiError, before);
          throw error;
        }
        await sleep(wait * 1000, signal);
      }
    }
  }

  async function answer(call: PendingCall): Promise<unknown> {
    const { reads } = call;
    const response = await exchange(call);
    if (!response.ok) throw await errorOf(response);
    if (reads === "changes") return response.body;
    if (reads === "blob" || reads === "text") return response[reads]();
    const text = await response.text();
    const found = text ? parse(text, response.status) : undefined;
    if (reads === "pages") return [found, response.headers.get("Link")];
    if (reads === "token") await setToken(Object(found).id ?? null);
    if (reads === "logout" && call.token === (await getToken())) await setToken(null);
    return read(reads, found, response.headers.get("ETag"));
  }

  async function exchange(call: PendingCall): Promise<Response> {
    const { timeout = options.timeout ?? 30_000, signal, ifMatch, onProgress } = call.options;
    const address = url(call.path.join("") + call.query);
    const body = encode(call.body);
    call.token = await getToken();
    const headers = {
      "Content-Type": typeof body === "string" && "application/json",
      Authorization: call.token,
      "If-Match": ifMatch && tagOf(ifMatch),
      "Idempotency-Key": call.options.idempotencyKey,
      ...call.options.headers,
    };
    signal?.throwIfAborted();
    const control = new AbortController();
    const abort = (): void => control.abort();
    // Timers cannot wait for longer.
    const timer = setTimeout(abort, Math.min(timeout, 2 ** 31 - 1));
    signal?.addEventListener("abort", abort);
    const request: SentRequest = {
      method: call.verb,
      headers: Object.entries(headers).filter(([, value]) => value) as [string, string][],
      body,
      credentials: options.storage === "cookie" ? "include" : "omit",
      // The token and the body are for this address alone.
      redirect: "error",
      signal: control.signal,
    };
    try {
      const response = await (onProgress && "XMLHttpRequest" in globalThis
        ? upload(address, request, onProgress)
        : fetch(address, request));
      // It has no end.
      if (call.reads === "changes" && response.status === 200) return response as Response;
      // The content may end late, too; responses of these statuses have none.
      const isEmpty = [204, 205, 304].includes(response.status);
      return new Response(isEmpty ? null : await response.blob(), response);
    } catch (error) {
      signal?.throwIfAborted();
      if (control.signal.aborted)
        throw new ApiError(0, "TIMEOUT", `No answer within ${timeout} ms.`);
      throw new ApiError(0, "NETWORK_ERROR", `The service was not reached: ${error}`);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Forget a token that is not valid, and tell that a call was refused. */
  async function note(call: PendingCall, error: ApiError, before: number): Promise<void> {
    const codes = ["AUTHORIZATION_REQUIRED", "INVALID_TOKEN", "ACCESS_TOKEN_REQUIRED"];
    // A token that a login has replaced is of no concern.
    if (!codes.includes(error?.code!) || call.token !== (await getToken())) return;
    if (error.code === "INVALID_TOKEN" || call.reads === "logout") await setToken(null);
    if (refusals !== before) return;
    refusals = NaN;
    const told = (async () => options.onUnauthorized?.(error))();
    void told.finally(() => (refusals = before + 1));
  }

  return { getToken, setToken, url, send };
}

function parse(text: string, status: number) {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(status, undefined, "The answer is no JSON.");
  }
}

/** Return what is made of an answer's JSON; rows keep their tag. */
function read(reads: string, answer: unknown, tag: string | null): unknown {
  if (reads === "nothing") return;
  if (reads === "count" || reads === "exists") return Object(answer)[reads];
  if (tag && answer instanceof Object) tags.set(answer, tag);
  return answer;
}

/** Return the tag of a row as it was read, which `ifMatch` takes for a copy of the row. */
export function tagOf(row: object | string): string {
  const tag = typeof row === "string" ? row : tags.get(row);
  if (!tag) throw new TypeError("This row has no tag: read it by findById.");
  return tag;
}

async function errorOf(response: Response): Promise<ApiError> {
  const { status, headers } = response;
  const error = Object((await response.json().catch((): null => null))?.error);
  const message = error.message ?? `The status is ${status}.`;
  const wait = headers.get("Retry-After")!;
  // Without seconds, it is a date; 0 is taken for one that is past.
  const seconds = Math.max(0, Number(wait) || (Date.parse(wait) - Date.now()) / 1000);
  const { code, details } = error;
  return new ApiError(status, code, message, details ?? {}, seconds >= 0 ? seconds : undefined);
}

function sleep(time: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, time);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Do what `fetch` does, and tell how much of the body is sent, which `fetch` cannot. */
async function upload(
  url: string,
  { method, headers, body, credentials, signal }: SentRequest,
  onProgress: (sent: number, total: number) => void,
): Promise<Received> {
  const request = new XMLHttpRequest();
  request.open(method, url);
  request.responseType = "blob";
  request.withCredentials = credentials === "include";
  for (const header of headers) request.setRequestHeader(...header);
  request.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total);
  signal.addEventListener("abort", () => request.abort());
  request.send(body as XMLHttpRequestBodyInit);
  await new Promise((resolve) => (request.onloadend = resolve));
  // There is no address after an error, and another one after a redirect.
  if (request.responseURL !== url) throw new TypeError("no answer");
  return {
    status: request.status,
    headers: ["ETag", "Retry-After"].map((name) => [name, request.getResponseHeader(name) ?? ""]),
    blob: async () => request.response,
  };
}

/** Return a body as it is sent: JSON, a form if it is an object with a file, or what it is. */
function encode(body: unknown): BodyInit | null {
  if (body === undefined) return null;
  const isRaw = [FormData, Blob, ArrayBuffer].some((kind) => body instanceof kind);
  if (isRaw || ArrayBuffer.isView(body)) return body as BodyInit;
  if (!Object.values(body ?? {}).some(hasFile)) return toJson(body);
  return appendAll(new FormData(), body as object);
}

/** Return JSON; numbers that it has not would be null, and a condition without a value, none. */
function toJson(value: unknown, isCondition = false): string {
  return JSON.stringify(value, (name, part) => {
    const isNumber = typeof part === "number";
    if (isNumber ? !Number.isFinite(part) : isCondition && part === undefined)
      throw new TypeError(`${name} is ${part}.`);
    if (name === "where" && part && !isCondition) toJson(part, true);
    return part;
  });
}

function mapValues<T, R>(values: Record<string, T>, change: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

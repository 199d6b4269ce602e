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
  onUnauthorized?: (error: ApiError) => void | Promise<void>;
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
  /** A key of this call's own, so that it may be repeated. */
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

class CallReference {
  declare readonly call: Promise<unknown>;
  declare readonly property: string;

  constructor(call: Promise<unknown>, property: string) {
    Object.assign(this, { call, property });
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
const TOKEN_KEY = "access_token";
// Statuses whose responses have no content.
const EMPTY = [204, 205, 304];
// The longest time, in seconds, that a call waits before it is repeated.
const LONGEST_WAIT = 30;
const UNAUTHORIZED = ["AUTHORIZATION_REQUIRED", "INVALID_TOKEN", "ACCESS_TOKEN_REQUIRED"];
// The tags of rows that have been read.
const tags = new WeakMap<object, string>();

function makeClient(
  options: ClientOptions,
  collections: Record<string, CollectionCalls>,
  logins: Record<string, string> = {},
): object {
  const connection = new ServiceConnection(options);
  return {
    ...makeCollections(collections, async (build) => connection.send(build())),
    batch: (build: BatchBuilder, options?: CallOptions) =>
      sendBatch(connection, collections, build, options),
    loginUrl: (provider: string) => new URL(logins[provider]!, connection.url("/")).href,
    getToken: () => connection.getToken(),
    setToken: (token: string | null) => connection.setToken(token),
  };
}

function makeCollections(collections: Record<string, CollectionCalls>, send: SendCall): object {
  return mapValues(collections, ({ path, rows, relations = {}, own = {}, below = {} }) => ({
    ...makeCalls(path, { ...(rows && ROWS), ...own }, [], send),
    ...mapValues(relations, (text) => {
      const [kind, name] = text.split(" ");
      const calls = kind === "one" ? RELATED_ROW : RELATED;
      return (id: unknown) => makeCalls(`${path}/{id}/${name}`, calls, [id], send);
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
    const [call = "", reads = ""] = text.split(" >");
    const [verb = "", below = "", ...words] = call.split(" ");
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
        else if (word === "query") appendAll(query, value ?? {});
        else if (value !== undefined)
          query.set(word, JSON.stringify(checkFilter(word, value), checkFilter));
      }
      const options = (values.shift() ?? {}) as CallOptions;
      return { verb, path, query: `?${query}`.replace(/\?$/, ""), body, options, reads };
    };
    return (...given: unknown[]) => {
      const make = (): PendingCall => build([...ids, ...given]);
      return reads === "pages" ? readPages(make, send) : send(make);
    };
  });
}

/** Return an argument as a segment of a path, which leads nowhere else. */
function segment(value: unknown): string | CallReference {
  if (value instanceof CallReference) return value;
  const text = ["string", "number"].includes(typeof value) ? `${value}` : "";
  if (/^\.{0,2}$/.test(text)) throw new TypeError(`${value} is no id.`);
  return encodeURIComponent(text);
}

/** Add values to a query or a form, where lists without files are JSON. */
function appendAll(form: URLSearchParams | FormData, values: object): void {
  for (const [name, value] of Object.entries(values)) {
    for (const item of form instanceof FormData && !hasFile(value) ? [value] : [value].flat()) {
      if (item != null) form.append(name, item instanceof Blob ? (item as never) : textOf(item));
    }
  }
}

/** Return a text as it is, dates as texts, and all else in JSON. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : toJson(value).replace(/^"|"$/g, "");
}

function hasFile(value: unknown): boolean {
  return [value].flat().some((item) => item instanceof Blob);
}

async function* readPages(build: () => PendingCall, send: SendCall): AsyncGenerator<unknown> {
  for (let call: PendingCall | undefined = build(); call;) {
    const current = call;
    const response = (await send(() => current)) as Response;
    yield parse(await response.text(), response.status);
    // Only the query is followed, as the token is for this service alone.
    const link = /<[^>?]*(\?[^>]*)>;\s*rel="?next/.exec(response.headers.get("Link") ?? "");
    call = link && link[1] !== call.query ? { ...call, query: link[1]! } : undefined;
  }
}

/** Send what a function calls as one batch; return what it returns, of the answers. */
async function sendBatch(
  connection: ServiceConnection,
  collections: Record<string, CollectionCalls>,
  build: BatchBuilder,
  options: CallOptions = {},
): Promise<unknown[]> {
  const calls: PendingCall[] = [];
  const names = new Map<unknown, string>();
  let start!: (answers: unknown) => void;
  const answers = new Promise<unknown>((resolve) => (start = resolve));
  let isBuilt = false;
  const record = (make: () => PendingCall): Promise<unknown> => {
    if (isBuilt) return Promise.reject(new TypeError("A batch makes its calls at once."));
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
  const returned = build(makeCollections(collections, record));
  isBuilt = true;
  const refer = ({ call, property }: CallReference): string => {
    if (!names.has(call)) throw new TypeError("A reference is to a call of its batch.");
    return `${names.get(call)}.${property}`;
  };
  const replace = (name: string, value: unknown): unknown =>
    value instanceof CallReference ? { $result: refer(value) } : check(name, value);
  const requests = calls.map(({ verb, path, query, body, options }, place) => ({
    id: `c${place}`,
    method: verb,
    path:
      path.map((part) => (typeof part === "string" ? part : `{${refer(part)}}`)).join("") + query,
    body: body && JSON.parse(JSON.stringify(body, replace)),
    ifMatch: options.ifMatch && tagOf(options.ifMatch),
  }));
  const body = { requests };
  start(connection.send({ verb: "POST", path: ["/batch"], query: "", body, options, reads: "" }));
  await answers;
  return Promise.all(returned);
}

class ServiceConnection {
  private readonly options: ClientOptions;
  private storage: TokenStorage | undefined;
  private token: string | null = null;
  /** How often `onUnauthorized` was called; while it runs NaN, which equals nothing. */
  private refusals = 0;

  constructor(options: ClientOptions) {
    this.options = options;
    if (typeof options.storage === "object") this.storage = options.storage;
  }

  async getToken(): Promise<string | null> {
    return (await this.use((storage) => storage.getItem(TOKEN_KEY))) ?? this.token;
  }

  async setToken(token: string | null): Promise<void> {
    await this.use((storage) =>
      token ? storage.setItem(TOKEN_KEY, token) : storage.removeItem(TOKEN_KEY),
    );
    if (!this.storage && this.options.storage !== "cookie") this.token = token;
  }

  /** Use the storage; one that fails, as in some private windows, is replaced by memory. */
  private async use<T>(action: (storage: TokenStorage) => T | Promise<T>): Promise<T | undefined> {
    try {
      return this.storage && (await action(this.storage));
    } catch {
      return (this.storage = undefined);
    }
  }

  /** Return the absolute URL of a path below the base path. */
  url(path: string): string {
    return new URL(this.options.baseUrl.replace(/\/$/, "") + path, globalThis.location?.href).href;
  }

  async send(call: PendingCall): Promise<unknown> {
    const { signal, retries = this.options.retries ?? 2 } = call.options;
    const refusals = this.refusals;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.attempt(call);
      } catch (error) {
        const wait = attempt < retries ? delay(call, error, attempt) : Infinity;
        if (wait > LONGEST_WAIT) {
          await this.note(call, error, refusals);
          throw error;
        }
        await sleep(wait * 1000, signal);
      }
    }
  }

  private async attempt(call: PendingCall): Promise<unknown> {
    const response = await this.exchange(call);
    if (!response.ok) throw await errorOf(response);
    if (call.reads === "pages") return response;
    if (call.reads === "blob") return response.blob();
    const text = await response.text();
    if (call.reads === "text") return text;
    const answer = text ? parse(text, response.status) : undefined;
    if (call.reads === "token") await this.setToken(Object(answer).id ?? null);
    if (call.reads === "logout") await this.forget(call);
    return read(call.reads, answer, response.headers.get("ETag"));
  }

  private async exchange(call: PendingCall): Promise<Response> {
    const { signal, onProgress, timeout = this.options.timeout ?? 30_000 } = call.options;
    const url = this.url(call.path.map((part) => check("", part)).join("") + call.query);
    const request = await this.request(call);
    signal?.throwIfAborted();
    const control = new AbortController();
    const abort = (): void => control.abort();
    // Timers cannot wait for longer.
    const timer = setTimeout(abort, Math.min(timeout, 2 ** 31 - 1));
    signal?.addEventListener("abort", abort);
    try {
      const init = { ...request, signal: control.signal };
      const isUpload = onProgress && "XMLHttpRequest" in globalThis;
      const response = await (isUpload ? upload(url, init, onProgress) : fetch(url, init));
      // The content may end late, too.
      return new Response(EMPTY.includes(response.status) ? null : await response.blob(), response);
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

  private async request(call: PendingCall): Promise<RequestInit> {
    const { verb, body, options } = call;
    const token = (call.token = await this.getToken());
    const content = encode(body);
    const headers = {
      ...(typeof content === "string" && { "Content-Type": "application/json" }),
      ...(token && { Authorization: token }),
      ...(options.ifMatch && { "If-Match": tagOf(options.ifMatch) }),
      ...(options.idempotencyKey && { "Idempotency-Key": options.idempotencyKey }),
      ...options.headers,
    };
    const credentials = this.options.storage === "cookie" ? "include" : "omit";
    // The token and the body are for this address alone.
    return { method: verb, headers, credentials, redirect: "error", body: content ?? null };
  }

  /** Forget a token that is not valid, and tell that a call was refused. */
  private async note(call: PendingCall, error: unknown, refusals: number): Promise<void> {
    if (!(error instanceof ApiError && UNAUTHORIZED.includes(error.code!))) return;
    if (error.code === "INVALID_TOKEN" || call.reads === "logout") await this.forget(call);
    if (refusals !== this.refusals) return;
    this.refusals = NaN;
    const tell = async (): Promise<void> => this.options.onUnauthorized?.(error);
    void tell().finally(() => (this.refusals = refusals + 1));
  }

  /** Forget the token of a call, unless another one has replaced it. */
  private async forget({ token }: PendingCall): Promise<void> {
    if (token === (await this.getToken())) await this.setToken(null);
  }
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
  if (reads === "nothing" || reads === "logout") return undefined;
  if (reads === "count" || reads === "exists") return Object(answer)[reads];
  if (tag && answer instanceof Object) tags.set(answer, tag);
  return answer;
}

function tagOf(row: object | string): string {
  const tag = typeof row === "string" ? row : tags.get(row);
  if (!tag) throw new TypeError("This row has no tag: read it by findById.");
  return tag;
}

async function errorOf(response: Response): Promise<ApiError> {
  const { status, headers } = response;
  const error = (await response.json().catch(() => null))?.error ?? {};
  const message = error.message ?? `The service answered ${status}.`;
  const wait = headers.get("Retry-After") ?? "";
  // Without seconds, it is a date; 0 is taken for one that is past.
  const seconds = Math.max(0, Number(wait) || (Date.parse(wait) - Date.now()) / 1000);
  const retryAfter = seconds >= 0 ? seconds : undefined;
  return new ApiError(status, error.code, message, error.details ?? {}, retryAfter);
}

/** Return the seconds after which a call is repeated. */
function delay(
  { verb, options }: PendingCall,
  error: unknown,
  attempt: number,
): number {
  if (!(error instanceof ApiError) || (verb !== "GET" && !options.idempotencyKey)) return Infinity;
  const { status, retryAfter } = error;
  return retryAfter ?? (status === 0 || status > 501 ? 2 ** attempt / 4 : Infinity);
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, milliseconds);
    const stop = (): void => reject((clearTimeout(timer), signal!.reason));
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Do what `fetch` does, and tell how much of the body is sent, which `fetch` cannot. */
async function upload(
  url: string,
  { method, headers, body, credentials, signal }: RequestInit,
  onProgress: (sent: number, total: number) => void,
): Promise<Response> {
    const request = new XMLHttpRequest();
    request.open(method!, url);
    request.responseType = "blob";
    request.withCredentials = credentials === "include";
    for (const [name, value] of Object.entries(headers!)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total);
    signal?.addEventListener("abort", () => request.abort());
    request.send(body as XMLHttpRequestBodyInit);
    await new Promise((resolve) => (request.onloadend = resolve));
    // There is no address after an error, and another one after a redirect.
    if (request.responseURL !== url) throw new TypeError("no answer");
    const { status, response } = request;
    const lines = request.getAllResponseHeaders().trim().split("\r\n");
    const given = lines.map((line) => line.split(/: (.*)/, 2) as [string, string]);
    return new Response(EMPTY.includes(status) ? null : response, { status, headers: given });
}

/** Return a body as it is sent: JSON, a form if it is an object with a file, or what it is. */
function encode(body: unknown): BodyInit | undefined {
  const raw = [FormData, Blob, ArrayBuffer].some((kind) => body instanceof kind);
  if (body === undefined || raw || ArrayBuffer.isView(body)) return body as BodyInit | undefined;
  if (!Object.values(body ?? {}).some(hasFile)) return toJson(body);
  const form = new FormData();
  appendAll(form, body as object);
  return form;
}

function toJson(value: unknown): string {
  return JSON.stringify(value, check);
}

/** Refuse what JSON has not, and would write as null. */
function check<T>(name: string, value: T): T {
  if (value instanceof CallReference) throw new TypeError("A reference is for a batch.");
  if (typeof value === "number" && !Number.isFinite(value))
    throw new TypeError(`${name} is ${value}.`);
  return value;
}

/** Refuse undefined in `where`: without the condition, all rows would be selected. */
function checkFilter<T>(name: string, value: T): T {
  if (name === "where" && value)
    JSON.stringify(value, (name, part) => {
      if (part === undefined) throw new TypeError(`${name} is undefined.`);
      return part;
    });
  return check(name, value);
}

function mapValues<T, R>(values: Record<string, T>, change: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

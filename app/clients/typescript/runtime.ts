/** How a client reaches the service. */
export interface ClientOptions {
  /** The URL of the API with its base path, such as `https://shop.example.com/api`, or `/api`. */
  baseUrl: string;
  /**
   * Where the access token is kept: in memory, which is the default, in `sessionStorage` or
   * another object with its methods, or with "cookie" in the cookie that the service sets.
   */
  storage?: "memory" | "cookie" | TokenStorage;
  /** Called when the service refuses a call because its token is missing or no longer valid. */
  onUnauthorized?: (error: ApiError) => void;
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
  readonly status: number;
  /** The stable code; failures of the service itself have none. */
  readonly code: AnyErrorCode | undefined;
  /** What else there is to know of it; `has` tells its type. */
  readonly details: object;
  /** Seconds after which the call may be repeated, if the service says so. */
  readonly retryAfter: number | undefined;

  constructor(status: number, code: AnyErrorCode | undefined, message: string, details: object, retryAfter?: number) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfter = retryAfter;
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
export function result<T extends object, P extends keyof T & string>(call: Promise<T>, property: P): T[P] {
  return new CallReference(call, property) as unknown as T[P];
}

class CallReference {
  readonly call: Promise<unknown>;
  readonly property: string;

  constructor(call: Promise<unknown>, property: string) {
    this.call = call;
    this.property = property;
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
}

type SendCall = <T>(call: PendingCall) => Promise<T>;
type BatchBuilder = (calls: object) => readonly Promise<unknown>[];

/** The calls of a collection: their names, with verb, path, arguments and what is answered. */
interface CollectionCalls {
  path: string;
  /** Whether it has the calls of all collections of rows. */
  rows?: true;
  /** Relations, with their paths. */
  relations?: Record<string, string>;
  own?: Record<string, string>;
}

// A path, what the arguments after those of the path are, and after > what is made of the answer.
const ROWS: Record<string, string> = {
  find: "GET / filter",
  pages: "GET / filter >pages",
  findOne: "GET /findOne filter",
  findById: "GET /{id} filter",
  count: "GET /count where >count",
  exists: "GET /{id}/exists >exists",
  aggregate: "GET /aggregate filter",
  create: "POST / body",
  createMany: "POST / body",
  update: "PATCH /{id} body",
  replace: "POST /{id}/replace body",
  upsert: "PATCH / body",
  replaceOrCreate: "POST /replaceOrCreate body",
  upsertWithWhere: "POST /upsertWithWhere where body",
  updateAll: "POST /update where body >count",
  delete: "DELETE /{id} >nothing",
};
const RELATED: Record<string, string> = {
  find: "GET / filter",
  get: "GET / filter",
  pages: "GET / filter >pages",
  count: "GET /count where >count",
  aggregate: "GET /aggregate filter",
  create: "POST / body",
  createMany: "POST / body",
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
    ...makeCollections(collections, (call) => connection.send(call)),
    batch: (build: BatchBuilder) => sendBatch(connection, collections, build),
    loginUrl: (provider: string) => new URL(logins[provider]!, connection.url("/")).href,
    getToken: () => connection.getToken(),
    setToken: (token: string | null) => connection.setToken(token),
  };
}

function makeCollections(collections: Record<string, CollectionCalls>, send: SendCall): object {
  return mapValues(collections, ({ path, rows, relations = {}, own = {} }) => ({
    ...(rows && makeCalls(path, ROWS, [], send)),
    ...mapValues(relations, (kind) => {
      const [first = "", segment = ""] = kind.split(" ");
      const calls = first === "one" ? RELATED_ROW : RELATED;
      return (id: unknown) => makeCalls(`${path}/{id}/${segment}`, calls, [id], send);
    }),
    ...makeOwn(path, own, send),
  }));
}

/** Return the calls of a collection's own, and by a name with a dot, those below a row. */
function makeOwn(path: string, own: Record<string, string>, send: SendCall): object {
  const groups: Record<string, Record<string, string>> = {};
  const calls: Record<string, string> = {};
  for (const [name, text] of Object.entries(own)) {
    const [group = "", method] = name.split(".");
    if (method) (groups[group] ??= {})[method] = text;
    else calls[name] = text;
  }
  const below = mapValues(groups, (texts) => (id: unknown) => makeCalls(path, texts, [id], send));
  return { ...makeCalls(path, calls, [], send), ...below };
}

function makeCalls(path: string, texts: Record<string, string>, ids: unknown[], send: SendCall): object {
  return mapValues(texts, (text) => {
    const [verb = "", below = "", ...words] = text.split(" ");
    const route = (path + below).replace(/\/$/, "");
    const reads = words.at(-1)?.startsWith(">") ? words.pop()!.slice(1) : "";
    return (...given: unknown[]) => {
      const values = [...ids, ...given];
      const build = (): PendingCall => makeCall(verb, route, words, reads, values);
      if (reads === "pages") return readPages(build, send);
      try {
        return send(build());
      } catch (error) {
        return Promise.reject(error);
      }
    };
  });
}

function makeCall(verb: string, route: string, words: string[], reads: string, values: unknown[]): PendingCall {
  const path = route.split(/\{\w+\}/).flatMap((text, place) => (place ? [segment(values.shift()), text] : [text]));
  const query = new URLSearchParams();
  let body: unknown;
  for (const word of words) {
    const value = values.shift();
    if (value === undefined) continue;
    if (word === "body") body = value;
    else if (word !== "query") query.set(word, JSON.stringify(value, refuseReference));
    else appendAll(query, value as object);
  }
  const text = String(query);
  const options = (values.shift() ?? {}) as CallOptions;
  return { verb, path, query: text && `?${text}`, body, options, reads };
}

/** Return an argument as a segment of a path; no value leads to another path. */
function segment(value: unknown): string | CallReference {
  if (value instanceof CallReference) return value;
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  if (["", ".", ".."].includes(text)) throw new TypeError(`${JSON.stringify(value)} is no id.`);
  return encodeURIComponent(text);
}

function appendAll(query: URLSearchParams, values: object): void {
  for (const [name, value] of Object.entries(values)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item != null) query.append(name, typeof item === "object" ? JSON.stringify(item) : String(item));
    }
  }
}

async function* readPages(build: () => PendingCall, send: SendCall): AsyncGenerator<unknown[]> {
  let call: PendingCall | undefined = build();
  while (call) {
    const response: Response = await send<Response>(call);
    yield (await response.json()) as unknown[];
    // Of the address, only the query is followed: the token is for this service alone.
    const next: string | undefined = /<[^>?]*(\?[^>]*)>;\s*rel="?next/.exec(response.headers.get("Link") ?? "")?.[1];
    call = next ? { ...call, query: next } : undefined;
  }
}

/** SendCall what a function calls as one batch, and return what it returns of the answers. */
async function sendBatch(
  connection: ServiceConnection,
  collections: Record<string, CollectionCalls>,
  build: BatchBuilder,
): Promise<unknown[]> {
  const names = new Map<Promise<unknown>, string>();
  const parts: { call: PendingCall; resolve: (value: unknown) => void; reject: (error: unknown) => void }[] = [];
  let isSent = false;
  const record = <T>(call: PendingCall): Promise<T> => {
    if (isSent) throw new TypeError("The batch is sent already: its function must make all calls at once.");
    const part = new Promise<T>((resolve, reject) => {
      parts.push({ call, resolve: resolve as (value: unknown) => void, reject });
    });
    part.catch(() => {});
    names.set(part, `c${parts.length}`);
    return part;
  };
  const returned = build(makeCollections(collections, record));
  isSent = true;
  const refer = (value: CallReference): string => {
    const name = names.get(value.call);
    if (!name) throw new TypeError("A reference is to a call of the same batch.");
    return `${name}.${value.property}`;
  };
  const requests = parts.map(({ call }, place) => ({
    id: `c${place + 1}`,
    method: call.verb,
    path: call.path.map((part) => (typeof part === "string" ? part : `{${refer(part)}}`)).join("") + call.query,
    ...(call.body !== undefined && { body: withReferences(call.body, refer) }),
    ...(call.options.ifMatch && { ifMatch: tagOf(call.options.ifMatch) }),
  }));
  try {
    const body = { requests };
    const call: PendingCall = { verb: "POST", path: ["/batch"], query: "", body, options: {}, reads: "" };
    type Answers = { responses: { body: unknown; etag: string | null }[] };
    const { responses } = await connection.send<Answers>(call);
    responses.forEach((answer, place) => {
      const { call, resolve } = parts[place]!;
      resolve(read(call.reads, answer.body, answer.etag));
    });
  } catch (error) {
    parts.forEach(({ reject }) => reject(error));
    throw error;
  }
  return Promise.all(returned);
}

function withReferences(value: unknown, refer: (reference: CallReference) => string): unknown {
  if (value instanceof CallReference) return { $result: refer(value) };
  if (Array.isArray(value)) return value.map((item) => withReferences(item, refer));
  if (!isPlain(value)) return value;
  return mapValues(value, (item) => withReferences(item, refer));
}

class ServiceConnection {
  private readonly options: ClientOptions;
  private readonly storage: TokenStorage | undefined;

  constructor(options: ClientOptions) {
    this.options = options;
    const { storage = "memory" } = options;
    if (storage !== "cookie") this.storage = storage === "memory" ? memory() : storage;
  }

  async getToken(): Promise<string | null> {
    return (await this.storage?.getItem(TOKEN_KEY)) ?? null;
  }

  async setToken(token: string | null): Promise<void> {
    await (token ? this.storage?.setItem(TOKEN_KEY, token) : this.storage?.removeItem(TOKEN_KEY));
  }

  /** Return the absolute URL of a path below the base path. */
  url(path: string): string {
    const page = (globalThis as { location?: { href: string } }).location?.href;
    return new URL(this.options.baseUrl.replace(/\/$/, "") + path, page).href;
  }

  async send<T>(call: PendingCall): Promise<T> {
    const { retries = this.options.retries ?? 2 } = call.options;
    for (let attempt = 0; ; attempt++) {
      try {
        return (await this.attempt(call)) as T;
      } catch (error) {
        const wait = attempt < retries && error instanceof ApiError ? delay(call, error, attempt) : undefined;
        if (wait === undefined) throw await this.note(call, error);
        await sleep(wait, call.options.signal);
      }
    }
  }

  private async attempt(call: PendingCall): Promise<unknown> {
    const response = await this.exchange(call);
    if (!response.ok) throw await errorOf(response);
    if (call.reads === "pages") return response;
    if (call.reads === "blob") return response.blob();
    if (call.reads === "text") return response.text();
    const text = await response.text();
    const answer: unknown = text ? JSON.parse(text) : undefined;
    if (call.reads === "token") await this.setToken((answer as { id: string }).id);
    if (call.reads === "logout") await this.setToken(null);
    return read(call.reads, answer, response.headers.get("ETag"));
  }

  private async exchange(call: PendingCall): Promise<Response> {
    const { signal, onProgress, timeout = this.options.timeout ?? 30_000 } = call.options;
    const path = call.path.map((part) => refuseReference("", part)).join("");
    const url = this.url(path + call.query);
    const request = await this.request(call);
    signal?.throwIfAborted();
    const control = new AbortController();
    const abort = (): void => control.abort();
    const timer = setTimeout(abort, timeout);
    signal?.addEventListener("abort", abort);
    try {
      const exchange = onProgress && "XMLHttpRequest" in globalThis ? sendWithProgress(onProgress) : fetch;
      const response = await exchange(url, { ...request, signal: control.signal });
      // The content may end late, too.
      const content = EMPTY.includes(response.status) ? null : await response.blob();
      return new Response(content, response);
    } catch (error) {
      signal?.throwIfAborted();
      if (control.signal.aborted) throw new ApiError(0, "TIMEOUT", `There was no answer within ${timeout} ms.`, {});
      throw new ApiError(0, "NETWORK_ERROR", `The service was not reached: ${error}`, {});
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  private async request({ verb, body, options }: PendingCall): Promise<RequestInit> {
    const [token, content] = [await this.getToken(), encode(body)];
    const headers = {
      Accept: "application/json, */*;q=0.5",
      ...(typeof content === "string" && { "Content-Type": "application/json" }),
      ...(token && { Authorization: token }),
      ...(options.ifMatch && { "If-Match": tagOf(options.ifMatch) }),
      ...(options.idempotencyKey && { "Idempotency-Key": options.idempotencyKey }),
      ...options.headers,
    };
    const credentials = this.storage ? "omit" : "include";
    return { method: verb, headers, credentials, ...(content !== undefined && { body: content }) };
  }

  /** Return an error after its effects: a token that is not valid is forgotten. */
  private async note(call: PendingCall, error: unknown): Promise<unknown> {
    if (error instanceof ApiError && UNAUTHORIZED.includes(error.code ?? "")) {
      if (error.code === "INVALID_TOKEN" || call.reads === "logout") await this.setToken(null);
      this.options.onUnauthorized?.(error);
    }
    return error;
  }
}

/** Return what is made of an answer's JSON; rows keep their tag. */
function read(reads: string, answer: unknown, tag: string | null): unknown {
  if (reads === "nothing" || reads === "logout") return undefined;
  if (reads === "count" || reads === "exists") return (answer as Record<string, unknown>)[reads];
  if (tag && isPlain(answer)) tags.set(answer, tag);
  return answer;
}

function tagOf(row: object | string): string {
  const tag = typeof row === "string" ? row : tags.get(row);
  if (!tag) throw new TypeError("This row has no tag: read it by findById, create or update.");
  return tag;
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = await response.json().catch(() => ({}));
  const { code, message, details = {} } = body.error ?? {};
  const wait = response.headers.get("Retry-After");
  const text = message ?? `The service answered ${response.status}.`;
  return new ApiError(response.status, code, text, details, wait === null ? undefined : Number(wait));
}

/** Return the milliseconds after which a call is repeated, or undefined if it is not. */
function delay(call: PendingCall, error: ApiError, attempt: number): number | undefined {
  const isSafe = call.verb === "GET" || call.options.idempotencyKey !== undefined;
  const isBrief = error.status === 0 || error.status > 501 || error.retryAfter !== undefined;
  const wait = error.retryAfter ?? 0.25 * 2 ** attempt;
  return isSafe && isBrief && wait <= LONGEST_WAIT ? wait * 1000 : undefined;
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}

/** Return a function like `fetch` that says how much of the body is sent, which `fetch` cannot. */
function sendWithProgress(onProgress: (sent: number, total: number) => void) {
  return (url: string, { method, headers, body, credentials, signal }: RequestInit): Promise<Response> =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(method!, url);
      request.responseType = "blob";
      request.withCredentials = credentials === "include";
      for (const [name, value] of Object.entries(headers!)) request.setRequestHeader(name, String(value));
      request.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total);
      request.onerror = request.onabort = () => reject(new TypeError("the connection was closed"));
      request.onload = () => {
        const lines = request.getAllResponseHeaders().trim().split(/[\r\n]+/);
        const given = lines.map((line): [string, string] => [line.split(":", 1)[0]!, line.slice(line.indexOf(":") + 1).trim()]);
        const content = EMPTY.includes(request.status) ? null : (request.response as Blob);
        resolve(new Response(content, { status: request.status, headers: given }));
      };
      signal?.addEventListener("abort", () => request.abort());
      request.send(body as XMLHttpRequestBodyInit);
    });
}

/** Return a body as it is sent: JSON, a form if it is an object with a file, or what it is. */
function encode(body: unknown): BodyInit | undefined {
  const isRaw = body instanceof FormData || body instanceof Blob || body instanceof ArrayBuffer;
  if (body === undefined || isRaw || ArrayBuffer.isView(body)) return body as BodyInit | undefined;
  const isForm = isPlain(body) && Object.values(body).flat().some((value) => value instanceof Blob);
  if (!isForm) return JSON.stringify(body, refuseReference);
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    for (const item of [value].flat()) {
      if (item instanceof Blob) form.append(name, item);
      else if (item != null) form.append(name, String(item));
    }
  }
  return form;
}

function refuseReference(_: string, value: unknown): unknown {
  if (value instanceof CallReference) throw new TypeError("A reference is for paths and bodies of a batch.");
  return value;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function mapValues<T, R>(values: Record<string, T>, change: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

function memory(): TokenStorage {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
}

/** An error that the service has answered, or with the status 0, has not answered. */
export class ApiError extends Error {
    constructor(status, code, message, details = {}, retryAfter) {
        super(message);
        Object.assign(this, { name: "ApiError", status, code, details, retryAfter });
    }
    /** Return true if this is the code; TypeScript then knows the details. */
    has(code) {
        return this.code === code;
    }
}
/**
 * Return a property of a call's answer for another call of the same batch, which sends a reference
 * to it.
 */
export function result(call, property) {
    return new CallReference(call, property);
}
class CallReference {
    constructor(call, property) {
        Object.assign(this, { call, property });
    }
}
// The calls of all lists, of collections, of related rows, and of the one row of a relation.
const LISTS = {
    find: "GET / filter",
    pages: "GET / filter >pages",
    count: "GET /count where >count",
    aggregate: "GET /aggregate filter",
    create: "POST / body",
    createMany: "POST / body",
};
const ROWS = {
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
const RELATED = {
    ...LISTS,
    deleteAll: "DELETE / >nothing",
    findById: "GET /{fk}",
    update: "PUT /{fk} body",
    delete: "DELETE /{fk} >nothing",
    link: "PUT /rel/{fk} body >nothing",
    unlink: "DELETE /rel/{fk} >nothing",
};
const RELATED_ROW = {
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
// The longest time, in milliseconds, that a timer can wait.
const LONGEST_TIMER = 2 ** 31 - 1;
const UNAUTHORIZED = ["AUTHORIZATION_REQUIRED", "INVALID_TOKEN", "ACCESS_TOKEN_REQUIRED"];
// The tags of rows that have been read.
const tags = new WeakMap();
function makeClient(options, collections, logins = {}) {
    const connection = new ServiceConnection(options);
    return {
        ...makeCollections(collections, async (build) => connection.send(build())),
        batch: (build, options) => sendBatch(connection, collections, build, options),
        loginUrl: (provider) => new URL(logins[provider], connection.url("/")).href,
        getToken: () => connection.getToken(),
        setToken: (token) => connection.setToken(token),
    };
}
function makeCollections(collections, send) {
    return mapValues(collections, ({ path, rows, relations = {}, own = {}, below = {} }) => ({
        ...makeCalls(path, { ...(rows && ROWS), ...own }, [], send),
        ...mapValues(relations, (text) => {
            const [kind, name] = text.split(" ");
            const calls = kind === "one" ? RELATED_ROW : RELATED;
            return (id) => makeCalls(`${path}/{id}/${name}`, calls, [id], send);
        }),
        ...mapValues(below, (texts) => (id) => makeCalls(path, texts, [id], send)),
    }));
}
function makeCalls(path, texts, ids, send) {
    return mapValues(texts, (text) => {
        const [verb = "", below = "", ...words] = text.split(" ");
        const parts = (path + below).replace(/\/$/, "").split(/\{[^}]+\}/);
        const reads = words.at(-1)?.startsWith(">") ? words.pop().slice(1) : "";
        const build = (values) => {
            const path = parts.flatMap((text, place) => place ? [segment(values.shift()), text] : [text]);
            const query = new URLSearchParams();
            let body;
            for (const word of words) {
                const value = values.shift();
                if (word === "body")
                    body = value;
                else if (word === "query")
                    appendAll(query, value ?? {});
                else if (value !== undefined)
                    query.set(word, toJson(value, word === "where" ? checkCondition : checkFilter));
            }
            const options = (values.shift() ?? {});
            return { verb, path, query: `?${query}`.replace(/\?$/, ""), body, options, reads };
        };
        return (...given) => {
            const call = () => build([...ids, ...given]);
            return reads === "pages" ? readPages(call, send) : send(call);
        };
    });
}
/** Return an argument as a segment of a path, which leads nowhere else. */
function segment(value) {
    if (value instanceof CallReference)
        return value;
    const isId = typeof value === "string" || typeof value === "number";
    if (!isId || /^\.{0,2}$/.test(String(value)))
        throw new TypeError(`${value} is no id.`);
    return encodeURIComponent(value);
}
/** Add values to a query or a form, where lists without files are JSON. */
function appendAll(form, values) {
    for (const [name, value] of Object.entries(values)) {
        for (const item of form instanceof FormData && !hasFile(value) ? [value] : [value].flat()) {
            if (item != null)
                form.append(name, item instanceof Blob ? item : textOf(item));
        }
    }
}
function textOf(value) {
    const plain = value instanceof Date ? value.toJSON() : value;
    return plain instanceof Object ? toJson(plain) : String(plain);
}
function hasFile(value) {
    return [value].flat().some((item) => item instanceof Blob);
}
async function* readPages(build, send) {
    for (let call = build(); call;) {
        const current = call;
        const response = (await send(() => current));
        yield parse(await response.text(), response.status);
        // Only the query is followed, as the token is for this service alone.
        const link = /<[^>?]*(\?[^>]*)>;\s*rel="?next/.exec(response.headers.get("Link") ?? "");
        call = link && link[1] !== call.query ? { ...call, query: link[1] } : undefined;
    }
}
/** Send what a function calls as one batch; return what it returns, of the answers. */
async function sendBatch(connection, collections, build, options = {}) {
    const calls = [];
    const names = new Map();
    let start;
    const answers = new Promise((resolve) => (start = resolve));
    let isBuilt = false;
    const record = (make) => {
        if (isBuilt)
            return Promise.reject(new TypeError("A batch makes its calls at once."));
        // An error ends the function that makes the calls, and nothing is sent.
        const call = make();
        const place = calls.push(call) - 1;
        const part = answers.then((all) => {
            const { body, etag } = all.responses[place];
            return read(call.reads, body, etag);
        });
        part.catch(() => { });
        names.set(part, `c${place}`);
        return part;
    };
    const returned = build(makeCollections(collections, record));
    isBuilt = true;
    const refer = ({ call, property }) => {
        if (!names.has(call))
            throw new TypeError("A reference is to a call of its batch.");
        return `${names.get(call)}.${property}`;
    };
    const replace = (_, value) => value instanceof CallReference ? { $result: refer(value) } : checkNumber(value);
    const requests = calls.map(({ verb, path, query, body, options }, place) => ({
        id: `c${place}`,
        method: verb,
        path: path.map((part) => (typeof part === "string" ? part : `{${refer(part)}}`)).join("") + query,
        body: body && JSON.parse(JSON.stringify(body, replace)),
        ifMatch: options.ifMatch && tagOf(options.ifMatch),
    }));
    const batch = {
        verb: "POST",
        path: ["/batch"],
        query: "",
        body: { requests },
        options,
        reads: "",
    };
    start(connection.send(batch));
    await answers;
    return Promise.all(returned);
}
class ServiceConnection {
    options;
    storage;
    token = null;
    /** How often `onUnauthorized` was called, and whether it still runs. */
    refusals = 0;
    isTelling = false;
    constructor(options) {
        this.options = options;
        if (typeof options.storage === "object")
            this.storage = options.storage;
    }
    async getToken() {
        return (await this.use((storage) => storage.getItem(TOKEN_KEY))) ?? this.token;
    }
    async setToken(token) {
        await this.use((storage) => token ? storage.setItem(TOKEN_KEY, token) : storage.removeItem(TOKEN_KEY));
        if (!this.storage && this.options.storage !== "cookie")
            this.token = token;
    }
    /** Use the storage; one that fails, as in some private windows, is replaced by memory. */
    async use(action) {
        try {
            return this.storage && (await action(this.storage));
        }
        catch {
            this.storage = undefined;
            return undefined;
        }
    }
    /** Return the absolute URL of a path below the base path. */
    url(path) {
        return new URL(this.options.baseUrl.replace(/\/$/, "") + path, globalThis.location?.href).href;
    }
    async send(call) {
        const { signal, retries = this.options.retries ?? 2 } = call.options;
        const refusals = this.isTelling ? -1 : this.refusals;
        for (let attempt = 0;; attempt++) {
            try {
                return await this.attempt(call);
            }
            catch (error) {
                const wait = attempt < retries ? delay(call, error, attempt) : undefined;
                if (wait === undefined) {
                    await this.note(call, error, refusals);
                    throw error;
                }
                await sleep(wait, signal);
            }
        }
    }
    async attempt(call) {
        const response = await this.exchange(call);
        if (!response.ok)
            throw await errorOf(response);
        if (call.reads === "pages")
            return response;
        if (call.reads === "blob")
            return response.blob();
        const text = await response.text();
        if (call.reads === "text")
            return text;
        const answer = text ? parse(text, response.status) : undefined;
        if (call.reads === "token")
            await this.setToken(Object(answer).id ?? null);
        if (call.reads === "logout")
            await this.forget(call);
        return read(call.reads, answer, response.headers.get("ETag"));
    }
    async exchange(call) {
        const { signal, onProgress, timeout = this.options.timeout ?? 30_000 } = call.options;
        const url = this.url(call.path.map((part) => refuseReference("", part)).join("") + call.query);
        const request = await this.request(call);
        signal?.throwIfAborted();
        const control = new AbortController();
        const abort = () => control.abort();
        const timer = setTimeout(abort, Math.min(timeout, LONGEST_TIMER));
        signal?.addEventListener("abort", abort);
        try {
            const exchange = onProgress && "XMLHttpRequest" in globalThis ? fetchWithProgress(onProgress) : fetch;
            const response = await exchange(url, { ...request, signal: control.signal });
            // The content may end late, too.
            return new Response(EMPTY.includes(response.status) ? null : await response.blob(), response);
        }
        catch (error) {
            signal?.throwIfAborted();
            if (control.signal.aborted)
                throw new ApiError(0, "TIMEOUT", `No answer within ${timeout} ms.`);
            throw new ApiError(0, "NETWORK_ERROR", `The service was not reached: ${error}`);
        }
        finally {
            clearTimeout(timer);
            signal?.removeEventListener("abort", abort);
        }
    }
    async request(call) {
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
        return {
            method: verb,
            headers,
            credentials,
            // The token and the body are for this address alone.
            redirect: "error",
            ...(content !== undefined && { body: content }),
        };
    }
    /** Forget a token that is not valid, and tell that a call was refused. */
    async note(call, error, refusals) {
        if (!(error instanceof ApiError && UNAUTHORIZED.includes(error.code)))
            return;
        if (error.code === "INVALID_TOKEN" || call.reads === "logout")
            await this.forget(call);
        if (refusals === this.refusals)
            void this.tell(error);
    }
    /** Forget the token of a call, unless another one has replaced it. */
    async forget({ token }) {
        if (token === (await this.getToken()))
            await this.setToken(null);
    }
    async tell(error) {
        this.refusals++;
        this.isTelling = true;
        try {
            await this.options.onUnauthorized?.(error);
        }
        finally {
            this.isTelling = false;
        }
    }
}
function parse(text, status) {
    try {
        return JSON.parse(text);
    }
    catch {
        throw new ApiError(status, undefined, "The answer is no JSON.");
    }
}
/** Return what is made of an answer's JSON; rows keep their tag. */
function read(reads, answer, tag) {
    if (reads === "nothing" || reads === "logout")
        return undefined;
    if (reads === "count" || reads === "exists")
        return Object(answer)[reads];
    if (tag && answer instanceof Object)
        tags.set(answer, tag);
    return answer;
}
function tagOf(row) {
    const tag = typeof row === "string" ? row : tags.get(row);
    if (!tag)
        throw new TypeError("This row has no tag: read it by findById.");
    return tag;
}
async function errorOf(response) {
    const error = (await response.json().catch(() => null))?.error ?? {};
    const message = error.message ?? `The service answered ${response.status}.`;
    return new ApiError(response.status, error.code, message, error.details ?? {}, secondsUntil(response.headers.get("Retry-After")));
}
/** Return the seconds that `Retry-After` says, which may be a date. */
function secondsUntil(wait) {
    if (!wait)
        return undefined;
    const seconds = /^\d+$/.test(wait) ? Number(wait) : (Date.parse(wait) - Date.now()) / 1000;
    return seconds >= 0 ? seconds : seconds < 0 ? 0 : undefined;
}
/** Return the milliseconds after which a call is repeated, or undefined if it is not. */
function delay({ verb, options }, error, attempt) {
    if (!(error instanceof ApiError) || (verb !== "GET" && !options.idempotencyKey))
        return undefined;
    const { status, retryAfter } = error;
    const wait = retryAfter ?? (status === 0 || status > 501 ? 2 ** attempt / 4 : Infinity);
    return wait <= LONGEST_WAIT ? wait * 1000 : undefined;
}
function sleep(milliseconds, signal) {
    return new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const stop = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        const timer = setTimeout(() => {
            signal?.removeEventListener("abort", stop);
            resolve();
        }, milliseconds);
        signal?.addEventListener("abort", stop);
    });
}
/** Return a function like `fetch` that tells how much of the body is sent, which `fetch` cannot. */
function fetchWithProgress(onProgress) {
    return async (url, { method, headers, body, credentials, signal }) => {
        const request = new XMLHttpRequest();
        request.open(method, url);
        request.responseType = "blob";
        request.withCredentials = credentials === "include";
        for (const [name, value] of Object.entries(headers))
            request.setRequestHeader(name, value);
        request.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total);
        signal?.addEventListener("abort", () => request.abort());
        request.send(body);
        await new Promise((resolve) => (request.onloadend = resolve));
        if (!request.status)
            throw new TypeError("the connection was closed");
        if (request.responseURL !== url)
            throw new TypeError("the service redirects");
        const lines = request.getAllResponseHeaders().matchAll(/^(\w[^:]*): *(.*)$/gm);
        const given = [...lines].map(([, name, value]) => [name, value]);
        const content = EMPTY.includes(request.status) ? null : request.response;
        return new Response(content, { status: request.status, headers: given });
    };
}
/** Return a body as it is sent: JSON, a form if it is an object with a file, or what it is. */
function encode(body) {
    const raw = [FormData, Blob, ArrayBuffer].some((kind) => body instanceof kind);
    if (body === undefined || raw || ArrayBuffer.isView(body))
        return body;
    if (!Object.values(body ?? {}).some(hasFile))
        return toJson(body);
    const form = new FormData();
    appendAll(form, body);
    return form;
}
/** Return JSON of a value, of which each part is checked. */
function toJson(value, check = refuseReference) {
    return JSON.stringify(value, check);
}
function refuseReference(_, value) {
    if (value instanceof CallReference)
        throw new TypeError("A reference is for a batch.");
    return checkNumber(value);
}
/** Refuse numbers that JSON has not: they would be null. */
function checkNumber(value) {
    if (typeof value === "number" && !Number.isFinite(value))
        throw new TypeError(`${value} is no number of JSON.`);
    return value;
}
/** Refuse undefined in a condition: without it, all rows would be selected. */
function checkCondition(name, value) {
    if (value === undefined)
        throw new TypeError(`The condition on ${name} is undefined.`);
    return refuseReference(name, value);
}
function checkFilter(name, value) {
    if (name === "where" && value !== undefined)
        toJson(value, checkCondition);
    return refuseReference(name, value);
}
function mapValues(values, change) {
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

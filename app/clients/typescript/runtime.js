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
/** The names of the calls of a batch while it is made. */
const names = new Map();
class CallReference {
    constructor(call, property) {
        Object.assign(this, { call, property });
    }
    get name() {
        if (!names.has(this.call))
            throw new TypeError("A reference is to a call of its batch.");
        return `${names.get(this.call)}.${this.property}`;
    }
    /** Return the reference as it is in paths, and in bodies. */
    toString() {
        return `{${this.name}}`;
    }
    toJSON() {
        return { $result: this.name };
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
// The key of the token in the storage.
const TOKEN = "access_token";
// The longest time, in seconds, that a call waits before it is repeated.
const MAX_WAIT = 30;
// The tags of rows that have been read.
const tags = new WeakMap();
/** What is made of several answers, by what is made of each. */
const iterators = {
    pages: readPages,
};
function makeClient(options, table, { logins, takesKeys } = {}) {
    const { send, url, ...tokens } = connect(options, takesKeys);
    return {
        ...makeCollections(table, async (build) => send(build())),
        batch: sendBatch.bind(null, send, table),
        loginUrl: (provider) => new URL(logins[provider], url("/")).href,
        ...tokens,
    };
}
function makeCollections(table, send) {
    return mapValues(table, ({ path, rows, relations = {}, own = {}, below = {} }) => ({
        ...makeCalls(path, { ...(rows && ROWS), ...own }, [], send),
        ...mapValues(relations, (text) => {
            const [kind, name] = text.split(" ");
            const texts = kind === "one" ? RELATED_ROW : RELATED;
            return (id) => makeCalls(`${path}/{id}/${name}`, texts, [id], send);
        }),
        ...mapValues(below, (texts) => (id) => makeCalls(path, texts, [id], send)),
    }));
}
function makeCalls(path, texts, ids, send) {
    return mapValues(texts, (text) => {
        const [call, reads = ""] = text.split(" >");
        const [verb, below, ...words] = call.split(" ");
        const parts = (path + below).replace(/\/$/, "").split(/\{[^}]+\}/);
        const build = (values) => {
            const path = parts.flatMap((text, place) => place ? [segment(values.shift()), text] : [text]);
            const query = new URLSearchParams();
            let body;
            for (const word of words) {
                const value = values.shift();
                if (word === "body")
                    body = value;
                else if (word === "query")
                    appendAll(query, (value ?? {}));
                else if (value !== undefined)
                    query.set(word, toJson(value, word === "where"));
            }
            const options = (values.shift() ?? {});
            return { verb, path, query: String(query) && `?${query}`, body, options, reads };
        };
        return (...given) => {
            const make = () => build([...ids, ...given]);
            return iterators[reads]?.(make, send) ?? send(make);
        };
    });
}
/** Return an argument as a segment of a path, which leads nowhere else. */
function segment(value) {
    if (value instanceof CallReference)
        return value;
    const text = /string|number/.test(typeof value) ? `${value}` : "";
    if (/^\.{0,2}$/.test(text))
        throw new TypeError(`${value} is no id.`);
    return encodeURIComponent(text);
}
/** Add values to a query or a form, where lists without files are JSON. */
function appendAll(form, values) {
    for (const [name, value] of Object.entries(values)) {
        for (const item of form instanceof FormData && !hasFile(value) ? [value] : [value].flat()) {
            const isRaw = typeof item === "string" || item instanceof Blob;
            // Dates are JSON without its quotes.
            if (item != null)
                form.append(name, isRaw ? item : toJson(item).replace(/"$|^"/g, ""));
        }
    }
    return form;
}
function hasFile(value) {
    return [value].flat().some((item) => item instanceof Blob);
}
async function* readPages(build, send) {
    const call = build();
    for (let next = call.query; next !== undefined;) {
        call.query = next;
        const [rows, link] = (await send(() => call));
        yield rows;
        // Only the query is followed, as the token is for this service alone.
        next = /<[^>?]*(\?[^>]*)>;\s*rel="?next/.exec(link ?? "")?.[1];
        if (next === call.query)
            return;
    }
}
/** Send what a function calls as one batch; return what it returns, of the answers. */
async function sendBatch(send, table, build, options = {}) {
    const calls = [];
    let start;
    const answers = new Promise((resolve) => (start = resolve));
    const record = (make) => {
        if (Object.isFrozen(calls))
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
function connect(options, takesKeys) {
    let storage = typeof options.storage === "object" ? options.storage : undefined;
    let token = null;
    // How often `onUnauthorized` was called; while it runs NaN, which equals nothing.
    let refusals = 0;
    async function getToken() {
        return (await use((storage) => storage.getItem(TOKEN))) ?? token;
    }
    async function setToken(value) {
        await use((storage) => value ? storage.setItem(TOKEN, value) : storage.removeItem(TOKEN));
        if (!storage && options.storage !== "cookie")
            token = value;
    }
    /** Use the storage; one that fails, as in some private windows, is replaced by memory. */
    async function use(action) {
        try {
            return storage && (await action(storage));
        }
        catch {
            return (storage = undefined);
        }
    }
    /** Return the absolute URL of a path below the base path. */
    function url(path) {
        return new URL(options.baseUrl.replace(/\/$/, "") + path, globalThis.location?.href).href;
    }
    async function send(call) {
        const { signal, retries = options.retries ?? 2, idempotencyKey } = call.options;
        const isSafe = call.verb === "GET" || (idempotencyKey && takesKeys);
        const before = refusals;
        for (let attempt = 0;; attempt++) {
            try {
                return await answer(call);
            }
            catch (error) {
                const { status, retryAfter } = Object(error);
                const wait = retryAfter ?? (status === 0 || status > 501 ? 2 ** attempt / 4 : Infinity);
                if (!isSafe || attempt >= retries || wait > MAX_WAIT) {
                    await note(call, error, before);
                    throw error;
                }
                await sleep(wait * 1000, signal);
            }
        }
    }
    async function answer(call) {
        const { reads } = call;
        const response = await exchange(call);
        if (!response.ok)
            throw await errorOf(response);
        if (reads === "changes")
            return response.body;
        if (reads === "blob" || reads === "text")
            return response[reads]();
        const text = await response.text();
        const found = text ? parse(text, response.status) : undefined;
        if (reads === "pages")
            return [found, response.headers.get("Link")];
        if (reads === "token")
            await setToken(Object(found).id ?? null);
        if (reads === "logout" && call.token === (await getToken()))
            await setToken(null);
        return read(reads, found, response.headers.get("ETag"));
    }
    async function exchange(call) {
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
        const abort = () => control.abort();
        // Timers cannot wait for longer.
        const timer = setTimeout(abort, Math.min(timeout, 2 ** 31 - 1));
        signal?.addEventListener("abort", abort);
        const request = {
            method: call.verb,
            headers: Object.entries(headers).filter(([, value]) => value),
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
            if (call.reads === "changes" && response.status === 200)
                return response;
            // The content may end late, too; responses of these statuses have none.
            const isEmpty = [204, 205, 304].includes(response.status);
            return new Response(isEmpty ? null : await response.blob(), response);
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
    /** Forget a token that is not valid, and tell that a call was refused. */
    async function note(call, error, before) {
        const codes = ["AUTHORIZATION_REQUIRED", "INVALID_TOKEN", "ACCESS_TOKEN_REQUIRED"];
        // A token that a login has replaced is of no concern.
        if (!codes.includes(error?.code) || call.token !== (await getToken()))
            return;
        if (error.code === "INVALID_TOKEN" || call.reads === "logout")
            await setToken(null);
        if (refusals !== before)
            return;
        refusals = NaN;
        const told = (async () => options.onUnauthorized?.(error))();
        void told.finally(() => (refusals = before + 1));
    }
    return { getToken, setToken, url, send };
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
    if (reads === "nothing")
        return;
    if (reads === "count" || reads === "exists")
        return Object(answer)[reads];
    if (tag && answer instanceof Object)
        tags.set(answer, tag);
    return answer;
}
/** Return the tag of a row as it was read, which `ifMatch` takes for a copy of the row. */
export function tagOf(row) {
    const tag = typeof row === "string" ? row : tags.get(row);
    if (!tag)
        throw new TypeError("This row has no tag: read it by findById.");
    return tag;
}
async function errorOf(response) {
    const { status, headers } = response;
    const error = Object((await response.json().catch(() => null))?.error);
    const message = error.message ?? `The status is ${status}.`;
    const wait = headers.get("Retry-After");
    // Without seconds, it is a date; 0 is taken for one that is past.
    const seconds = Math.max(0, Number(wait) || (Date.parse(wait) - Date.now()) / 1000);
    const { code, details } = error;
    return new ApiError(status, code, message, details ?? {}, seconds >= 0 ? seconds : undefined);
}
function sleep(time, signal) {
    return new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const timer = setTimeout(resolve, time);
        const stop = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        signal?.addEventListener("abort", stop, { once: true });
    });
}
/** Do what `fetch` does, and tell how much of the body is sent, which `fetch` cannot. */
async function upload(url, { method, headers, body, credentials, signal }, onProgress) {
    const request = new XMLHttpRequest();
    request.open(method, url);
    request.responseType = "blob";
    request.withCredentials = credentials === "include";
    for (const header of headers)
        request.setRequestHeader(...header);
    request.upload.onprogress = ({ loaded, total }) => onProgress(loaded, total);
    signal.addEventListener("abort", () => request.abort());
    request.send(body);
    await new Promise((resolve) => (request.onloadend = resolve));
    // There is no address after an error, and another one after a redirect.
    if (request.responseURL !== url)
        throw new TypeError("no answer");
    return {
        status: request.status,
        headers: ["ETag", "Retry-After"].map((name) => [name, request.getResponseHeader(name) ?? ""]),
        blob: async () => request.response,
    };
}
/** Return a body as it is sent: JSON, a form if it is an object with a file, or what it is. */
function encode(body) {
    if (body === undefined)
        return null;
    const isRaw = [FormData, Blob, ArrayBuffer].some((kind) => body instanceof kind);
    if (isRaw || ArrayBuffer.isView(body))
        return body;
    if (!Object.values(body ?? {}).some(hasFile))
        return toJson(body);
    return appendAll(new FormData(), body);
}
/** Return JSON; numbers that it has not would be null, and a condition without a value, none. */
function toJson(value, isCondition = false) {
    return JSON.stringify(value, (name, part) => {
        const isNumber = typeof part === "number";
        if (isNumber ? !Number.isFinite(part) : isCondition && part === undefined)
            throw new TypeError(`${name} is ${part}.`);
        if (name === "where" && part && !isCondition)
            toJson(part, true);
        return part;
    });
}
function mapValues(values, change) {
    return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

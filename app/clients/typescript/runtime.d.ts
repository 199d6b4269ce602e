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
export declare class ApiError extends Error {
    readonly status: number;
    /** The stable code; failures of the service itself have none. */
    readonly code: AnyErrorCode | undefined;
    /** What else there is to know of it; `has` tells its type. */
    readonly details: object;
    /** Seconds after which the call may be repeated, if the service says so. */
    readonly retryAfter: number | undefined;
    constructor(status: number, code: AnyErrorCode | undefined, message: string, details?: {}, retryAfter?: number);
    /** Return true if this is the code; TypeScript then knows the details. */
    has<K extends AnyErrorCode>(code: K): this is ApiError & {
        code: K;
        details: DetailsOf<K>;
    };
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
export declare function result<T extends object, P extends keyof T & string>(call: Promise<T>, property: P): T[P];
/** Return the tag of a row as it was read, which `ifMatch` takes for a copy of the row. */
export declare function tagOf(row: object | string): string;

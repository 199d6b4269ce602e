/** Calls of a service that answers as none should, in surroundings that fail. */
import { ApiError, createClient, type TokenStorage } from "./clients/shop.js";

async function outcome(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    return error instanceof ApiError ? [error.status, error.code ?? null] : String(error);
  }
}

/** What a call is refused with that the types do not allow. */
const untyped = (value: unknown): never => value as never;

export async function run(baseUrl: string): Promise<object> {
  const api = createClient({ baseUrl, retries: 3 });
  await api.setToken("the token");
  const moved = [
    await outcome(api.products.findById(1, {}, { retries: 0 })),
    await outcome(api.products.create({ sku: "a", name: "b", price: "1" })),
    await outcome(
      api.products.create({ sku: "a", name: "b", price: "1" }, { onProgress: () => {} }),
    ),
  ];
  const dated = [await outcome(api.shipments.find()), await outcome(api.orders.findById(1))];
  const began = Date.now();
  const control = new AbortController();
  setTimeout(() => control.abort(), 50);
  const stopped = await outcome(api.reviews.find({}, { signal: control.signal }));
  const waited = Date.now() - began;
  const pages: unknown[] = [];
  for await (const page of api.categories.pages()) pages.push(page);
  const values = [
    await outcome(api.todos.find({ where: { created: untyped(new Date(0)) } })),
    await outcome(
      api.todos.find({ where: { title: untyped(undefined) }, limit: untyped(undefined) }),
    ),
    await outcome(api.todos.count({ and: [{ title: untyped(undefined) }] })),
    await outcome(api.todos.updateAll({ id: untyped(undefined) }, {})),
    await outcome(api.todos.update(1, { title: untyped(NaN) })),
    await outcome(api.todos.update(1, { title: untyped(1n) })),
    await outcome(api.todos.findById(untyped({ id: 1 }))),
    await outcome(api.todos.find({}, { timeout: Infinity })),
  ];
  const form = await api.todos.create(
    untyped({
      title: "a",
      tags: ["b", "c"],
      size: { height: 1 },
      at: new Date(0),
      none: null,
      file: new Blob(["x"]),
    }),
  );
  const polluted = await api.todos.findById(2);
  return {
    moved,
    dated,
    stopped,
    waited: waited < 5_000,
    pages,
    html: await outcome(api.shipments.pages({ limit: 1 })[Symbol.asyncIterator]().next()),
    values,
    form,
    polluted: [Object.keys(polluted), ({} as { polluted?: string }).polluted ?? null],
    refused: await refusals(baseUrl),
    storage: await storages(baseUrl),
  };
}

/** Several calls are refused at once; one of them late, after another login. */
async function refusals(baseUrl: string): Promise<object> {
  const told: unknown[] = [];
  const api = createClient({
    baseUrl,
    onUnauthorized: async (error) => {
      told.push(error.code);
      await outcome(api.orderItems.find());
      await outcome(api.orderItems.find());
    },
  });
  await api.setToken("old");
  const calls = await Promise.all([1, 2, 3].map(() => outcome(api.orderItems.find())));
  await new Promise((resolve) => setTimeout(resolve, 200));
  const once = told.length;
  await outcome(api.orderItems.find());
  const again = told.length;

  const codes: unknown[] = [];
  const other = createClient({ baseUrl, onUnauthorized: (error) => codes.push(error.code) });
  await other.setToken("old");
  const late = outcome(other.orderItems.count());
  await new Promise((resolve) => setTimeout(resolve, 20));
  await other.setToken("new");
  await late;
  const kept = [await other.getToken(), codes.length];
  await outcome(other.users.logout());
  return { calls, once, again, kept, loggedOut: await other.getToken() };
}

async function storages(baseUrl: string): Promise<unknown[]> {
  const fail = (): never => {
    throw new Error("The storage is full.");
  };
  const kinds: TokenStorage[] = [
    { getItem: () => null, setItem: fail, removeItem: () => {} },
    { getItem: fail, setItem: fail, removeItem: fail },
    { getItem: async () => fail(), setItem: async () => fail(), removeItem: async () => fail() },
  ];
  const seen: unknown[] = [];
  for (const storage of kinds) {
    const api = createClient({ baseUrl, storage });
    await api.users.login({ email: "a", password: "b" });
    seen.push(await api.getToken(), await outcome(api.todos.count()));
  }
  return seen;
}

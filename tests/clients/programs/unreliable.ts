/** Calls of a service that fails in the ways that the names of the rows say. */
import { createClient as connect } from "./clients/everything.js";
import { ApiError, createClient } from "./clients/shop.js";

async function outcome(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    return error instanceof ApiError
      ? [error.status, error.code ?? null, error.retryAfter ?? null]
      : String(error);
  }
}

export async function run(baseUrl: string, closed: string): Promise<object> {
  const api = createClient({ baseUrl, retries: 3 });
  const order = { status: "open" } as const;
  const pages: unknown[] = [];
  for await (const page of api.categories.pages()) pages.push(page);
  const control = new AbortController();
  setTimeout(() => control.abort(), 50);
  return {
    repeated: await outcome(api.products.find()),
    refused: await outcome(api.orders.create(order)),
    // The service of `everything` takes keys, and that of the shop does not.
    repeatable: await outcome(
      connect({ baseUrl }).reviews.create(
        { stars: 5, productId: 1 },
        { idempotencyKey: "key-1" },
      ),
    ),
    ignored: await outcome(api.products.updateAll({}, {}, { idempotencyKey: "key-2" })),
    far: await outcome(api.shipments.find()),
    broken: await outcome(api.todos.find()),
    slow: await outcome(api.orderItems.find({}, { timeout: 100, retries: 0 })),
    stopped: await outcome(api.orderItems.find({}, { signal: control.signal })),
    closed: await outcome(createClient({ baseUrl: closed, retries: 0 }).products.find()),
    odd: [
      await outcome(api.users.find()),
      await outcome(api.todos.findById(1, {}, { retries: 0 })),
    ],
    pages,
  };
}

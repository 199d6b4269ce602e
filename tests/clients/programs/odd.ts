/** Calls and types whose names others have; the answers are what was sent. */
import { createClient, type BookCreate, type BookCreateRow, type BookItem } from "./clients/odd.js";

export const rows: [BookCreate, BookCreateRow, BookItem] = [{}, { id: 1 }, { id: 1 }];

export async function run(baseUrl: string): Promise<object> {
  const api = createClient({ baseUrl });
  const things = api.__proto__;
  await things.create({ ["__proto__"]: "a", class: "b", constructor: "c" });
  return {
    // A client may be awaited.
    thing: "then" in (await (async () => things)()),
    related: [await things.new(1).get(), await things.then_(2).get()],
    many: await things.toString(3).find({ where: { id: 4 } }),
    below: await api.bookItems.find(),
    beside: await api.bookItems_.find(),
  };
}

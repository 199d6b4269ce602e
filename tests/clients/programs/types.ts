/** Uses of a client whose types are as expected; it is compiled, and not run. */
import {
  ApiError,
  createClient,
  result,
  type Author,
  type Book,
  type BookCreate,
  type BookFilter,
  type BookModel,
  type BookUpdate,
  type Client,
  type Topic,
  type Where,
} from "./clients/library.js";
import { createClient as connect, type ParcelModel } from "./clients/food_bank.js";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
declare function expect<T>(value: T): { toBe<U>(is: Equal<T, U>): void };

export const create: BookCreate = {
  title: "Emma",
  price: "12.50",
  binding: "hard",
  language: "en",
  stars: 3,
  floor: 0,
  volumes: 5,
  country: "de",
  serial: "12345678",
  record: "507f1f77bcf86cd799439011",
  released: "2026-01-01",
  bought: "2026-01-01T00:00:00Z",
  place: { lat: 52.5, lng: 13.4 },
};

export async function lists(api: Client): Promise<void> {
  expect(await api.books.find()).toBe<Book[]>(true);
  expect(await api.books.find({ fields: ["id"] })).toBe<{ id: string }[]>(true);
  expect(await api.books.find({ fields: { id: true, title: true } })).toBe<
    { id: string; title: string }[]
  >(true);
  const [book] = await api.books.find({ include: ["author", "topics"] });
  expect(book!.author).toBe<Author | undefined>(true);
  expect(book!.topics).toBe<Topic[]>(true);
  expect(book!.title).toBe<string>(true);
  const [lean] = await api.books.find({ fields: { details: false, words: false } });
  expect(lean!.share).toBe<string | null>(true);
  const nested = await api.books.findById("1", {
    fields: ["title"],
    include: [
      {
        relation: "author",
        scope: { fields: ["name"], include: [{ relation: "books", scope: { fields: ["id"] } }] },
      },
    ],
  });
  expect(nested).toBe<{ title: string; author?: { name: string; books: { id: string }[] } }>(true);
  for await (const page of api.books.pages({ fields: ["shelf"], after: "WyI" }))
    expect(page).toBe<{ shelf: "A" | "B" | null }[]>(true);
  const filter: BookFilter = { where: { title: "Emma" }, limit: 1 };
  expect((await api.books.findOne(filter)).title).toBe<string | undefined>(true);
}

export const conditions: Where<BookModel>[] = [
  {
    title: { like: "%a%", options: "i" },
    price: { between: ["1.00", "2.00"] },
    stars: { inq: [3, 5] },
    binding: "hard",
  },
  {
    share: null,
    isLent: true,
    bought: { gte: "2026-01-01T00:00:00Z" },
    pages: 5,
    details: { exists: true },
  },
  {
    "details.size.height": { gt: 3 },
    place: { near: { lat: 1, lng: 2 }, maxDistance: 3, unit: "kilometers" },
  },
  { and: [{ code: { neq: null } }, { or: [{ words: { inq: ["a", "b"] } }, {}] }] },
  {
    author: { name: { ilike: "a%" }, books: { some: { isLent: false } } },
    topics: { none: { name: "x" } },
  },
  { author: { exists: false }, topics: { name: "x" } },
];

export async function orders(api: Client): Promise<void> {
  await api.books.find({ order: "title" });
  await api.books.find({ order: ["title DESC", "author.name", "details.size.height ASC"] });
}

export async function aggregates(api: Client): Promise<void> {
  const groups = await api.books.aggregate({
    where: { author: { exists: true } },
    groupBy: ["binding", { bought: "month" }, "author.born"],
    aggregate: {
      books: { count: "*" },
      cost: { sum: "price" },
      stars: { avg: "stars" },
      last: { max: "bought" },
    },
    having: { books: { gt: 1 }, or: [{ cost: { gte: "10.00" } }] },
    order: ["books DESC", "binding"],
  });
  type Group = {
    binding: "hard" | "paper";
    bought: string;
    "author.born": string | null;
    books: number;
    cost: string | null;
    stars: number | null;
    last: string | null;
  };
  expect(groups).toBe<Group[]>(true);
  expect(await api.books.aggregate({ aggregate: { n: { count: "*" } } })).toBe<{ n: number }[]>(
    true,
  );
}

export async function writes(api: Client): Promise<void> {
  const book = await api.books.create(create);
  expect(book).toBe<Book>(true);
  expect(await api.books.createMany([create])).toBe<Book[]>(true);
  const changes: BookUpdate = { isLent: true, share: null };
  await api.books.update(book.id, changes, { ifMatch: book });
  await api.books.replace(book.id, create);
  await api.books.upsert({ id: book.id, isLent: false });
  expect(await api.books.updateAll({ isLent: true }, { isLent: false })).toBe<number>(true);
  expect(await api.books.delete(book.id)).toBe<void>(true);
  await api.users.create({
    email: "ada@example.com",
    password: "a quiet harbour",
    name: "Ada",
    plan: "paid",
  });
}

export async function relations(api: Client): Promise<void> {
  const [book] = await api.authors.books("1").find({ include: ["topics"] });
  expect(book!.topics).toBe<Topic[]>(true);
  await api.authors.books("1").create(create);
  await api.books.topics("1").link("2");
  expect(await api.books.author("1").get({ fields: ["name"] })).toBe<{ name: string }>(true);
  expect(await api.users.accessTokens("me").deleteAll()).toBe<void>(true);
}

export async function batches(api: Client): Promise<void> {
  const [author, count] = await api.batch((calls) => {
    const author = calls.authors.create({ name: "Austen" });
    return [
      author,
      calls.books.count(),
      calls.books.create({ ...create, authorId: result(author, "id") }),
    ];
  });
  expect(author).toBe<Author>(true);
  expect(count).toBe<number>(true);
}

export function errors(error: unknown): string {
  if (!(error instanceof ApiError)) return "";
  if (error.has("SECOND_FACTOR_REQUIRED")) return error.details.ticket;
  if (error.has("VALIDATION_ERROR")) return Object.keys(error.details.messages).join();
  return error.code === "TIMEOUT" ? "late" : error.message;
}

export const api = createClient({
  baseUrl: "/api",
  storage: sessionStorage,
  onUnauthorized: (error) => alert(error.code),
});

/** Names that the client has itself, properties that related rows do not show, and any rows. */
export async function names(): Promise<void> {
  const bank = connect({ baseUrl: "/api" });
  const [shift] = await bank.shifts.find({
    include: ["site", "volunteers"],
    where: { state: "a | b" },
  });
  expect(shift!.volunteers[0]!.languages).toBe<string[] | null>(true);
  expect(shift!.site!["first-line"]).toBe<string | null>(true);
  await bank.shifts.count_(1).get();
  await bank.class.create({ text: "yes" });
  await bank.filters.find({ where: { anything: 5, weight: { gt: 1 } } });
  await bank.filters.create({ anything: { at: "all" } });
  const sku: ParcelModel["id"] = "A1";
  await bank.parcels.upsert({ sku });
  const [basket] = await bank.baskets.find({ include: ["wrapping", "parcels"] });
  expect(basket!.parcels[0]!.sku).toBe<string>(true);
  const [image] = await bank.images.find({ include: ["subject"] });
  expect(image!.subject?.name).toBe<string | undefined>(true);
}

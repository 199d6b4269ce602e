// Register, log in, create and list with filters, by types that openapi-typescript has generated.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };
type NewBook = components["schemas"]["NewBook"];

const [, , baseUrl, password] = process.argv;
const client = createClient<paths>({ baseUrl });

/** Return the data of an answer; an error is thrown with its code. */
function expectData<Data>(answer: { data?: Data; error?: components["schemas"]["ErrorResponse"] }) {
  if (answer.data === undefined) {
    throw new Error(answer.error?.error.code);
  }
  return answer.data;
}

const email = "typescript@example.com";
expectData(await client.POST("/users", { body: { email, password, name: "Ada" } }));
const token = expectData(await client.POST("/users/login", { body: { email, password } }));
client.use({
  onRequest({ request }) {
    request.headers.set("Authorization", token.id);
  },
});

const rest = {
  binding: "hard",
  language: "en",
  stars: 4,
  floor: -1,
  volumes: 5,
  country: "UK",
  serial: "AB-12345",
  record: "507f1f77bcf86cd799439011",
  released: "1843-10-01",
  bought: "2026-01-02T03:04:05.678Z",
  place: { lat: 51.5, lng: -0.1 },
} as const;
const books: NewBook[] = [
  { ...rest, title: "Notes", price: "12.50" },
  { ...rest, title: "Sketch", price: "9.95" },
];
for (const body of books) {
  expectData(await client.POST("/books", { body }));
}
const where: components["schemas"]["BookWhere"] = { price: { gt: "10" } };
const filter: components["schemas"]["BookFilter"] = { where, order: "title", limit: 10 };
const query = { filter: JSON.stringify(filter) };
const listed = expectData(await client.GET("/books", { params: { query } }));

expectData(await client.POST("/todos", { body: { title: "Water the plants", isComplete: false } }));
const todos = expectData(
  await client.GET("/todos", {
    params: { query: { filter: JSON.stringify({ where: { title: { like: "Water%" } } }) } },
  }),
);
const path = { id: token.userId };
const missing = await client.GET("/books/{id}", { params: { path } });
console.log(
  JSON.stringify({
    prices: listed.map((book) => book.price),
    todos: todos.map((todo) => [todo.title, todo.ownerId === token.userId]),
    error: missing.error?.error.code,
  }),
);

/** What a front end of the shop does with its client; the answer is what it has seen. */
import { ApiError, createClient, result, tagOf, type Client } from "./clients/shop.js";

const CODES: string[] = [];

function connect(baseUrl: string): Client {
  return createClient({ baseUrl, onUnauthorized: (error) => CODES.push(error.code ?? "") });
}

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
    return "no error";
  } catch (error) {
    return error instanceof ApiError
      ? [error.status, error.code, error.details]
      : (error as Error).name;
  }
}

export async function run(baseUrl: string, email: string, password: string): Promise<object> {
  const clerk = connect(baseUrl);
  await clerk.users.login({ email: "clerk@example.com", password });
  const [lamp, desk] = await clerk.products.createMany([
    { sku: `L${email}`.slice(0, 20), name: "Lamp", price: "12.50", tags: ["light"] },
    { sku: `D${email}`.slice(0, 20), name: "Desk", price: "99.00", size: { height: 70 } },
  ]);
  const products = { id: { inq: [lamp!.id, desk!.id] } };
  const light = await clerk.categories.create({ name: `Light ${email}` });
  await clerk.products.categories(lamp!.id).link(light.id);

  const api = connect(baseUrl);
  const user = await api.users.create({ email, password });
  const login = await api.users.login({ email, password }, { include: "user" });
  const named = await api.products.find({ where: products, fields: ["name"], order: "price DESC" });
  const included = await api.products.find({
    where: { and: [products, { categories: { some: { name: { like: "Light%" } } } }] },
    include: ["categories", { relation: "reviews", scope: { fields: ["stars"] } }],
  });
  const deep = await api.products.find({
    where: { ...products, "size.height": { gt: 60 } },
    fields: { id: false },
  });
  const pages: string[][] = [];
  for await (const page of api.products.pages({
    where: products,
    order: "id",
    limit: 1,
    fields: ["name"],
  })) {
    pages.push(page.map((product) => product.name));
  }

  const [order, item, changed] = await api.batch((calls) => {
    const order = calls.orders.create({});
    const item = calls.orderItems.create({
      orderId: result(order, "id"),
      productId: lamp!.id,
      quantity: 3,
    });
    return [order, item, calls.orders.update(result(order, "id"), { status: "paid" })];
  });
  const failed = await codeOf(
    api.batch((calls) => [
      calls.orders.create({}),
      calls.orderItems.create({ orderId: order.id, productId: -1 }),
    ]),
  );
  const unsent = await codeOf(
    api.batch((calls) => [calls.orders.create({}), calls.orders.delete("" as unknown as number)]),
  );
  const second = await api.orders.items(order.id).create({ productId: desk!.id });
  const items = await api.orders
    .items(order.id)
    .find({ include: ["product"], order: ["quantity DESC"] });
  const customer = await api.orders.customer(order.id).get({ fields: ["email"] });
  const total = await api.orders.total(order.id);
  const sums = await api.orderItems.aggregate({
    groupBy: "product.name",
    aggregate: { pieces: { sum: "quantity" }, lines: { count: "*" } },
    having: { pieces: { gte: 1 } },
    order: "pieces DESC",
  });
  const latest = await api.orders.findById(order.id);
  const sent = await api.orders.update(order.id, { status: "sent" }, { ifMatch: tagOf(latest) });
  const overtaken = await codeOf(
    api.orders.update(order.id, { status: "open" }, { ifMatch: latest }),
  );
  const untagged = await codeOf(api.orders.update(order.id, {}, { ifMatch: {} }));

  const unknown = await codeOf(api.products.findById(0x7fffffff));
  const traversal = await codeOf(api.products.findById("../users" as unknown as number));
  const dots = await codeOf(api.products.delete(".." as unknown as number));
  let messages: unknown;
  try {
    await clerk.products.create({ sku: "x", name: "", price: "1.00" });
  } catch (error) {
    if (error instanceof ApiError && error.has("VALIDATION_ERROR"))
      messages = Object.keys(error.details.messages);
  }
  const control = new AbortController();
  control.abort();
  const aborted = await codeOf(api.products.find({}, { signal: control.signal }));
  const late = codeOf(
    api.batch((calls) => {
      setTimeout(
        () => void codeOf(calls.products.count()).then((code) => CODES.push(String(code))),
        0,
      );
      return [];
    }),
  );
  await late;
  const orders = await api.orders.count();
  await api.users.logout();
  const loggedOut = await codeOf(api.orders.find());
  await api.setToken("a".repeat(64));
  const invalid = await codeOf(api.orders.find());

  return {
    user: [user.email, login.user?.email, login.userId === user.id],
    named,
    included: included.map((product) => [
      product.name,
      product.categories.length,
      product.reviews.length,
    ]),
    deep: deep.map((product) => [product.name, product.size, "id" in product]),
    pages,
    batch: [item.quantity, item.orderId === order.id, changed.status],
    failed,
    items: items.map((each) => [each.product?.name, each.quantity]),
    second: second.quantity,
    customer,
    total,
    sums,
    sent: sent.status,
    refused: [unsent, overtaken, untagged, unknown, traversal, dots, aborted],
    messages,
    orders,
    loggedOut,
    invalid,
    token: await api.getToken(),
    codes: CODES,
  };
}

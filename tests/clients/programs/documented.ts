/** Calls what docs/client.md shows, as a clerk. */
import { api, customers, dear, everyName, login, order, problems, sell } from "./document.js";

export async function run(_: string, email: string, password: string): Promise<object> {
  const done = await login(email, password);
  const lamp = await sell({ sku: "L-1", name: "Lamp", price: "60.00", status: "draft" });
  const light = await api.categories.create({ name: "Light" });
  await api.products.categories(lamp.id).link(light.id);
  await sell({ sku: "D-1", name: "Desk", price: "99.00" });
  return {
    done,
    lamp: lamp.status,
    dear: await dear(),
    order: await order(lamp.id, 2),
    customers: await customers(),
    names: await everyName({ order: "name", limit: 1 }),
    problems: await problems({ sku: "", name: "x", price: "1.00" }),
  };
}

/** Follow the orders of a shop over lost connections. */
import { ApiError, createClient } from "./clients/shop.js";

export async function run(baseUrl: string, token: string): Promise<object> {
  const api = createClient({ baseUrl });
  await api.setToken(token);
  const seen: unknown[] = [];
  for await (const change of api.orders.changes({ where: { status: "paid" } })) {
    if (change.type === "create" || change.type === "update")
      seen.push([change.type, change.target, change.data.status]);
    else if (change.type === "remove") {
      seen.push([change.type, change.target]);
      break;
    } else seen.push([change.type]);
    // Tells the test that the first change was received.
    if (seen.length === 1) await api.orders.create({ status: "sent" });
  }
  return { seen, refused: await refusal(baseUrl), stopped: await stop(baseUrl, token) };
}

async function refusal(baseUrl: string): Promise<unknown> {
  try {
    for await (const change of createClient({ baseUrl }).orders.changes()) return change;
  } catch (error) {
    return error instanceof ApiError ? error.status : String(error);
  }
  return null;
}

async function stop(baseUrl: string, token: string): Promise<unknown> {
  const api = createClient({ baseUrl });
  await api.setToken(token);
  const control = new AbortController();
  setTimeout(() => control.abort(), 500);
  try {
    for await (const change of api.orders.changes({}, { signal: control.signal })) return change;
  } catch (error) {
    return (error as Error).name;
  }
  return null;
}

/** A login by an identity provider, which the page returns from with a cookie. */
import { ApiError, createClient } from "./clients/everything.js";

export async function run(baseUrl: string, code?: string): Promise<object> {
  const api = createClient({ baseUrl, storage: "cookie" });
  const address = api.loginUrl("test");
  const error = new URLSearchParams(location.search).get("error");
  // The ticket is in a cookie.
  if (code) await api.users.loginWithFactor({ code });
  try {
    const user = await api.users.findById("me");
    await api.users.update(user.id, { username: "ada" });
    await api.users.logout();
    return { address, error, email: user.email, token: await api.getToken() };
  } catch (refused) {
    if (!(refused instanceof ApiError)) throw refused;
    return { address, error, refused: refused.code };
  }
}

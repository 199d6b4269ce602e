/** A browser that uploads and downloads a file, with the cookie of a login. */
import { createClient } from "./clients/everything.js";

export async function run(baseUrl: string, email: string, password: string): Promise<object> {
  const api = createClient({ baseUrl, storage: "cookie" });
  await api.users.login({ email, password });
  const container = await api.containers.createContainer({ name: "notes" });
  const steps: number[] = [];
  const file = new File(["x".repeat(100_000)], "note.txt", { type: "text/plain" });
  const answer = await api.containers.upload(
    "notes",
    { file },
    { onProgress: (sent) => steps.push(sent) },
  );
  const listed = await api.containers.getFiles("notes");
  const content = await api.containers.download("notes", "note.txt");
  return {
    container: container.name,
    stored: answer.result?.files?.["file"]?.[0]?.name,
    progress: Math.max(...steps) >= 100_000,
    listed: listed.map(({ name, size }) => [name, size]),
    bytes: content.size,
    token: await api.getToken(),
  };
}

/** Rows have their properties without `strict`, too; it is compiled, and not run. */
import { createClient, type Product } from "./clients/shop.js";

const api = createClient({ baseUrl: "/api" });
export const products: Promise<Product[]> = api.products.find();
export const named: Promise<{ name: string }[]> = api.products.find({ fields: ["name"] });

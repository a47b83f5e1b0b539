// The parts of the scenario's JSON Schema needed by a form.

import { isTable } from "./paths";
import { isKind, type Kind } from "./quantities";
import type { Json, Tree } from "./types";

export interface Variant {
  name: string;
  doc: string;
  /** The schema of the variant's parameters; null for a plain word. */
  params: Tree | null;
}

interface Common {
  doc: string;
  fallback: Json | undefined;
  nullable: boolean;
}

/** The kind of control that a value needs, and the data for this control. */
export type Shape = Common &
  (
    | { is: "quantity"; kind: Kind }
    | { is: "number"; whole: boolean; least: number | undefined; most: number | undefined }
    | { is: "flag" }
    | { is: "text" }
    | { is: "choice"; variants: Variant[] }
    | { is: "table"; fields: [string, Tree][]; required: string[] }
    | { is: "other" }
  );

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
const tables = (value: Json | undefined): Tree[] => (Array.isArray(value) ? value.filter(isTable) : []);

export class Schema {
  constructor(readonly root: Tree) {}

  definition(name: string): Tree {
    const definitions = this.root["$defs"];
    const found = isTable(definitions) ? definitions[name] : undefined;
    if (!isTable(found)) throw new Error(`the schema has no ${name}`);
    return found;
  }

  private referred(schema: Tree): [string, Tree] {
    const name = text(schema["$ref"]).split("/").pop() ?? "";
    return name === "" ? ["", schema] : [name, this.definition(name)];
  }

  shape(schema: Tree): Shape {
    const given = tables(schema["anyOf"]);
    const nullable =
      given.some((s) => s["type"] === "null") || (Array.isArray(schema["type"]) && schema["type"].includes("null"));
    const inner = given.find((s) => "$ref" in s) ?? schema;
    const [name, meant] = this.referred(inner);
    const common: Common = {
      doc: text(schema["description"]) || text(meant["description"]),
      fallback: schema["default"],
      nullable,
    };
    if (isKind(name)) return { ...common, is: "quantity", kind: name };
    const types = Array.isArray(meant["type"]) ? meant["type"] : [meant["type"] ?? ""];
    if (types.includes("boolean")) return { ...common, is: "flag" };
    if (types.includes("integer") || types.includes("number")) return { ...common, ...numeric(meant, types) };
    // "properties" is looked up before "oneOf": a table has both if some of its keys are mutually exclusive
    if (isTable(meant["properties"])) {
      const required = Array.isArray(meant["required"]) ? meant["required"].map(String) : [];
      const fields = Object.entries(meant["properties"]).filter((f): f is [string, Tree] => isTable(f[1]));
      return { ...common, is: "table", fields, required };
    }
    const variants = this.variants(meant);
    if (variants.length > 0) return { ...common, is: "choice", variants };
    return types.includes("string") ? { ...common, is: "text" } : { ...common, is: "other" };
  }

  /** Returns the variants of a choice: keywords, and tables of one key. */
  variants(schema: Tree): Variant[] {
    const found: Variant[] = [];
    for (const one of tables(schema["oneOf"])) {
      const doc = text(one["description"]);
      if (typeof one["const"] === "string") found.push({ name: one["const"], doc, params: null });
      else if (isTable(one["properties"])) {
        const [entry] = Object.entries(one["properties"]);
        if (entry !== undefined && isTable(entry[1])) found.push({ name: entry[0], doc, params: entry[1] });
      }
    }
    return found;
  }
}

function numeric(schema: Tree, types: Json[]): { is: "number"; whole: boolean; least: number | undefined; most: number | undefined } {
  const bound = (key: string) => (typeof schema[key] === "number" ? schema[key] : undefined);
  return { is: "number", whole: types.includes("integer"), least: bound("minimum"), most: bound("maximum") };
}

"""Writes docs/inside/folders/: a page for each folder of csrc/, from its files' head comments.

python docs/make_folders.py           writes the pages
python docs/make_folders.py --check   exit status 1 when a page is not up to date

The files stand in the order in which they are best read, which is FOLDERS' here.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "inside" / "folders"

#: By folder: what comes in and goes out, and its files without `.c`, by subject.
FOLDERS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "": (
        "What every folder uses.",
        [("All", "module arena text import environment vector_libm")],
    ),
    "python": (
        "Everything that depends on the CPython version: the hook, frames, bytecode to neutral instructions.",
        [
            ("Bytecode", "decode decode_flow decode_print stack_name"),
            ("Frames", "frame hook intercept backedge stand_in breaker"),
            (
                "One instruction on a real frame",
                "step step_object step_methods operators step_build step_call step_handler",
            ),
            ("Guards without a check", "watch"),
            (
                "Objects read without running code",
                "attribute contents set_layout lru abstract builtins",
            ),
            ("The rest", "error code_extra module_python"),
        ],
    ),
    "arrays": (
        "What an array is, for each array library; NumPy as the oracle for dtypes; the only NumPy includes.",
        [
            ("NumPy", "library numpy numpy_make numpy_oracle numpy_kinds"),
            (
                "Functions",
                "foreign gufunc elementary short special libm_tables findings",
            ),
            ("Memory", "copy overlap select bare bare_number pool rows series streams"),
            ("What a program may see", "errors warnings elision ends"),
            ("CuPy", "cupy cupy_oracle cupy_blocks"),
            ("The rest", "module_arrays"),
        ],
    ),
    "graph": (
        "Nodes, regions, sizes, types; how an operation is done; printing, parsing, verifying.",
        [
            ("Nodes", "build ops size size_bounds unite type layout constant object"),
            ("What is known of them", "way attention product virtual output live part"),
            ("Text and Python", "print parse verify view module_graph"),
        ],
    ),
    "capture/core": (
        "Symbolic values, sources, guards, storages, breaks, raising, guarded look-ups: what every rule needs.",
        [
            ("Tables", "kinds callables behind breaks raising slots"),
            ("Values", "value described known plain shadow strange"),
            ("Types", "type_lookup enum_types named_types set_values"),
            ("Sources and choices", "guards source inputs outcomes chosen join loop_shape"),
            (
                "Arrays and effects",
                "storage series sizes symbols dims size_guards lengths decided measured streams "
                "effects",
            ),
            ("Attempts", "paths obstacles print"),
        ],
    ),
    "capture/numpy": (
        "Rules for NumPy's functions, methods, operators, indexing, views, writes and steps.",
        [
            (
                "Functions",
                "numpy_names function_table signature numpy_functions ufunc_calls numpy_python limits",
            ),
            (
                "Elements and places",
                "operands ufuncs ops int_bounds casts index_key index index_store index_list places "
                "masked views reshape writes crossing",
            ),
            (
                "Functions by subject",
                "reductions products creation shape_functions strided array_attributes array_methods "
                "temporaries",
            ),
            ("Calls of the library", "trial trial_sizes externs steps opaque draws errstate texts"),
            (
                "Arrays on a device",
                "device device_reduce device_views device_writes device_calls devices collectives",
            ),
        ],
    ),
    "capture/numbers": (
        "Python's scalars that stay symbolic, and numbers that come out of arrays.",
        [("All", "scalars scalar_calls complexes numbers loose")],
    ),
    "capture/containers": (
        "Lists, dicts and sets: what changes them and what is in them.",
        [("All", "containers lists dicts open_dicts sets")],
    ),
    "capture/objects": (
        "Classes, instances, functions, exceptions, generators, iteration; Python's builtins and methods as rules.",
        [
            ("Every object", "iterate truth subscript boxes named globals"),
            (
                "Attributes and classes",
                "attributes attribute_store decorated classes instances instance_dict "
                "function_objects super enums special models partials lru",
            ),
            ("Control by objects", "exceptions groups handlers generators with match"),
            (
                "Builtins",
                "typings refusals class_builtins builtin_arguments builtins builtin_numbers methods strings folds output",
            ),
        ],
    ),
    "capture/control": (
        "Following instructions, the stack, calls, loops, branches that meet again, the exit, and worth.",
        [
            ("Instructions", "capture value_kinds interp stack operators jumps alone"),
            ("Calls", "call call_inlined decompositions derivative"),
            (
                "Loops over elements",
                "loop loop_scan loop_types loop_refuse loop_items loop_element loop_part loop_series "
                "loop_append loop_list loop_dict loop_tuples loop_draw loop_draw_python loop_either loop_class "
                "loop_leave loop_side loop_before loop_calls loop_written loop_marks loop_why",
            ),
            (
                "Slices in loops",
                "section section_each section_store section_select section_reduce",
            ),
            (
                "Loops over whole arrays",
                "repeat repeat_carry repeat_learn repeat_objects repeat_views repeat_written",
            ),
            (
                "Branches that meet again",
                "world merge merge_states merge_values merge_writes choice",
            ),
            ("The end", "build build_array exit worth module_capture"),
        ],
    ),
    "passes": (
        "Graph to graph, one pass per file, in the order of pipeline.c.",
        [
            (
                "The order, what passes share",
                "pipeline rewrite versions arm_writes module_passes",
            ),
            ("For every graph", "fold forward algebra cse dce"),
            (
                "For lowering",
                "functions loops moves overwritten arms concatenate writes attention attention_back products "
                "gathers scans copies again k_major collectives",
            ),
        ],
    ),
    "lower": (
        "Graph to program: kernels as loop nests, calls, buffers and their lifetimes.",
        [
            ("The whole", "lower"),
            (
                "Groups",
                "schedule fit group late access apart reduction arms repeat measure drive writes commit flag_bounds sized stored",
            ),
            (
                "Kernels",
                "nest instrs found stages cuda attention product scan",
            ),
            (
                "Kept loops",
                "region region_value region_tree region_unroll region_order region_bits region_bounds "
                "region_carried region_modulo region_reuse region_small region_copy region_lanes "
                "region_split region_print",
            ),
            ("Kernels together", "alike together"),
            ("Steps and memory", "steps bare release memory wave print"),
        ],
    ),
    "codegen": (
        "Loop nests to one source file for each program and target: C, CUDA.",
        [
            (
                "C",
                "file c drive drive_local turn bare straight row pairwise expr flags flag_bounds prelude functions casts machine divide python_ops",
            ),
            (
                "Loops for special cases",
                "accumulate columns twin beside parts weave pieces tile stream prefetch skip",
            ),
            (
                "Kept loops",
                "region region_head region_number region_element region_fold region_call region_list "
                "region_draw region_side region_log region_choice",
            ),
            (
                "CUDA",
                "cuda cuda_value cuda_pack cuda_rows cuda_reduce cuda_scan cuda_attention cuda_attention_back cuda_hopper "
                "cuda_prelude module_codegen",
            ),
        ],
    ),
    "export": (
        "A program as tables for a library that needs no Python; what has no C is a reason.",
        [("All", "export checks steps calls write")],
    ),
    "runtime": (
        "Guards, entries, plans, exits; toolchain, disk cache, threads, options, logs, reports.",
        [
            (
                "Calls",
                "function frame_call run_call run recompile stance precompile exported program live",
            ),
            (
                "Entries and what pays",
                "entry twins account prices credit earn sample sample_calls balance turns",
            ),
            (
                "Guards",
                "guards guards_reach guards_watch guards_weak guards_strong guards_path guards_text guards_name "
                "guards_value guards_sizes guards_remedy guards_differ",
            ),
            ("Compiles", "compile compile_backend compile_export compile_tell backend"),
            (
                "Plans",
                "plan_new plan_sizes plan plan_extern plan_region plan_region_log plan_build plan_undone plan_carry "
                "plan_chain plan_batch plan_wave plan_drive spare",
            ),
            (
                "Code and the disk cache",
                "target code background waiting cache cache_folder cache_record cache_import cache_claim "
                "findings_note hash toolchain cpu threads divided",
            ),
            (
                "CUDA",
                "cuda_library cuda_compile cuda_ptx cuda_code cuda_launch cuda_graph cuda_product cuda_put",
            ),
            ("Options, logs, reports", "config log report trace hints test_hooks module_runtime"),
        ],
    ),
}


WIDTH = 110
ESCAPED = re.compile(r"[\\*<>\[\]|]|(?<!\w)_|_(?!\w)")


def filled(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def page_name(folder: str) -> str:
    return (folder.replace("/", "-") or "csrc") + ".md"


def escaped(line: str) -> str:
    """Outside of `code`, what Markdown or HTML would take for its own is taken literally."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(
        part if part.startswith("`") else ESCAPED.sub(r"\\\g<0>", part) for part in parts
    )


def head_comment(path: Path) -> str:
    """The comment that a source begins with, as Markdown."""
    match = re.match(r"/\*(.*?)\*/", path.read_text(), re.S)
    if match is None:
        raise SystemExit(f"{path} does not begin with a comment")
    lines = [line[3:] if line.startswith("   ") else line for line in match[1].split("\n")]
    blocks = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(block_text(block) for block in blocks)


def is_drawn(line: str) -> bool:
    """Part of a drawing or of code: indented by more than the lines of a list are."""
    return bool(re.match(r"  +(?!\d+\. )\S", line)) or any(c in line for c in "│└┌►▼")


def block_text(block: str) -> str:
    """A paragraph, a numbered list, or a drawing: between lines of text a drawing is fenced."""
    lines = block.split("\n")
    numbered = False
    made: list[str] = []
    drawing: list[str] = []

    def end_drawing() -> None:
        if drawing:
            made.append("\n```text\n" + "\n".join(drawing) + "\n```\n")
            drawing.clear()

    for line in lines:
        item = re.match(r" *(\d+)\. ", line)
        if item:
            end_drawing()
            if not numbered and made:
                made.append("")
            numbered = True
            made.append(escaped(line.lstrip()))
        elif numbered and line.startswith("   "):
            made.append("   " + escaped(line.strip()))
        elif is_drawn(line):
            drawing.append(line)
        else:
            end_drawing()
            made.append(escaped(line))
    end_drawing()
    return "\n".join(made).strip("\n")


def page(folder: str) -> str:
    """The page's text.  Files that FOLDERS does not name are an error, and so are names of none."""
    purpose, groups = FOLDERS[folder]
    source = ROOT / "csrc" / folder
    there = {path.stem for path in source.glob("*.c")}
    named = [name for _, names in groups for name in names.split()]
    if sorted(named) != sorted(there):
        wrong = sorted(there ^ set(named)) or "a name twice"
        raise SystemExit(f"docs/make_folders.py, {folder or 'csrc'}: {wrong}")
    where = f"csrc/{folder}".rstrip("/")
    parts = [
        f"# {where}\n",
        "<!-- Made by `python docs/make_folders.py` from the files' first comments: do not edit. -->\n",
        filled(purpose + " [Map](../map.md)."),
    ]
    headers = sorted(path.name for path in source.glob("*.h"))
    tables = sorted(path.name for path in source.glob("*.def"))
    for what, found in (("Headers", headers), ("Tables", tables)):
        if found:
            parts.append(filled(f"{what}: " + ", ".join(f"`{name}`" for name in found) + "."))
    for title, names in groups:
        if title != "All":
            parts.append(f"## {title}\n")
        for name in names.split():
            parts.append(f"### {name}.c\n\n{head_comment(source / f'{name}.c')}\n")
    return "\n".join(parts)


def main() -> int:
    pages = {PAGES / page_name(folder): page(folder) for folder in FOLDERS}
    if "--check" in sys.argv[1:]:
        same = all(path.exists() and path.read_text() == text for path, text in pages.items())
        return 0 if same and set(PAGES.glob("*.md")) == set(pages) else 1
    for path, text in pages.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

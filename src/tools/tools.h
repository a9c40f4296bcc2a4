/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The sub-commands of `dragoman`: one function each, in a file of its own (cmd_<name>.c), listed in
 * the table of main.c. Results go to stdout, messages to stderr; the exit status is 0, 1 (it
 * failed) or 2 (wrong usage).
 *
 * argv[0] is the sub-command's name; options are read with dg_opt_command (base/option/opt.h). */
#ifndef DG_TOOLS_TOOLS_H
#define DG_TOOLS_TOOLS_H

int dg_cmd_align(int argc, char **argv);
int dg_cmd_answer(int argc, char **argv);
int dg_cmd_bench(int argc, char **argv);
int dg_cmd_chat(int argc, char **argv);
int dg_cmd_classify(int argc, char **argv);
int dg_cmd_detect(int argc, char **argv);
int dg_cmd_detokenize(int argc, char **argv);
int dg_cmd_distill(int argc, char **argv);
int dg_cmd_embed(int argc, char **argv);
int dg_cmd_eval(int argc, char **argv);
int dg_cmd_file(int argc, char **argv);
int dg_cmd_fill(int argc, char **argv);
int dg_cmd_get(int argc, char **argv);
int dg_cmd_generate(int argc, char **argv);
int dg_cmd_import(int argc, char **argv);
int dg_cmd_inspect(int argc, char **argv);
int dg_cmd_keys(int argc, char **argv);
int dg_cmd_langid_train(int argc, char **argv);
int dg_cmd_manifest(int argc, char **argv);
int dg_cmd_models(int argc, char **argv);
int dg_cmd_quality(int argc, char **argv);
int dg_cmd_quantize(int argc, char **argv);
int dg_cmd_remove(int argc, char **argv);
int dg_cmd_score(int argc, char **argv);
int dg_cmd_segment(int argc, char **argv);
int dg_cmd_shortlist(int argc, char **argv);
int dg_cmd_sign(int argc, char **argv);
int dg_cmd_tag(int argc, char **argv);
int dg_cmd_tokenize(int argc, char **argv);
int dg_cmd_train(int argc, char **argv);
int dg_cmd_train_vocab(int argc, char **argv);
int dg_cmd_translate(int argc, char **argv);
int dg_cmd_trim(int argc, char **argv);
int dg_cmd_verify(int argc, char **argv);

#endif

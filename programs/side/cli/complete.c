/* SPDX-License-Identifier: MIT */
/*
 * Prints completions for bash and zsh from the table.
 *
 * The bash functions need no bash-completion package. If it is installed, the arguments after
 * `record` are completed as a command of their own. bash splits words at ':' and '=', which event
 * names and options contain. The functions therefore split the line at blanks themselves, and
 * remove the part that bash would repeat from the results.
 */
#include "programs/common/command.h"

#include "protocol/context.h"

#include <string.h>

static const char bash_head[] =
		"# SPDX-License-Identifier: MIT\n"
		"# bash completion for side. Made from programs/side/cli/table.c.\n"
		"\n"
		"# Events of the file that the line names, or of the trace in a directory; nothing "
		"is run.\n"
		"_side_events()\n"
		"{\n"
		"\tlocal word path\n"
		"\tfor word in \"${words[@]:2}\"; do\n"
		"\t\t[[ $word == -* || $word == \"$cur\" ]] && continue\n"
		"\t\tif [[ -d $word ]]; then\n"
		"\t\t\tsed -n 's/^[[:space:]]*name = \"\\([^\"]*:[^\"]*\\)\";.*/\\1/p' \\\n"
		"\t\t\t\t\"$word\"/metadata \"$word\"/*/metadata 2>/dev/null\n"
		"\t\t\tcontinue\n"
		"\t\tfi\n"
		"\t\tpath=$word\n"
		"\t\t[[ -f $path ]] || path=$(type -P -- \"$word\") || continue\n"
		"\t\t[[ $path == */* ]] || path=./$path\n"
		"\t\tside list --names --libraries -q \"$path\" 2>/dev/null\n"
		"\tdone\n"
		"\t[[ $1 == *-event || $1 == add-context || $1 == top ]] && _side_names events\n"
		"}\n"
		"\n"
		"# What is there now: sessions, channels of the session, events, processes, pids.\n"
		"_side_names()\n"
		"{\n"
		"\tlocal i session=\n"
		"\tlocal -a more=()\n"
		"\tfor ((i = 2; i < ${#words[@]} - 1; i++)); do\n"
		"\t\tcase ${words[i]} in\n"
		"\t\t-s | --session) session=${words[i + 1]} ;;\n"
		"\t\t--session=*) session=${words[i]#*=} ;;\n"
		"\t\t--system) more+=(--system) ;;\n"
		"\t\tesac\n"
		"\tdone\n"
		"\t[[ $session ]] && more+=(\"--session=$session\")\n"
		"\tside complete \"$1\" ${more[@]+\"${more[@]}\"} 2>/dev/null\n"
		"}\n";

static const char bash_script[] = "\n"
				  "_side()\n"
				  "{\n"
				  "\tlocal line=${COMP_LINE:0:COMP_POINT} cur verb= option= want= "
				  "options= taking= two= i prefix=\n"
				  "\tlocal -a words\n"
				  "\tCOMPREPLY=()\n"
				  "\tread -ra words <<<\"$line\"\n"
				  "\t[[ $line == *[[:space:]] ]] && words+=(\"\")\n"
				  "\tcur=${words[-1]}\n"
				  "\tfor ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
				  "\t\t[[ ${words[i]} == -* ]] && continue\n"
				  "\t\t[[ ${words[i - 1]} == --color ]] && continue\n"
				  "\t\tverb=${words[i]}\n"
				  "\t\tbreak\n"
				  "\tdone\n"
				  "\tcase $verb in\n";

static void complete_bash_options(FILE *out, const struct option *const *tables)
{
	const char *separator = "";

	fputs("\t\toptions='", out);
	for (size_t table = 0; table < 2; table++) {
		for (const struct option *option = tables[table]; option && option->name;
				option++) {
			if (option->letter)
				fprintf(out, "%s-%c", separator, option->letter), separator = " ";
			fprintf(out, "%s--%s%s", separator, option->name,
					option->argument && !option->optional ? "=" : "");
			separator = " ";
		}
	}
	fputs("'\n\t\ttaking='", out);
	separator = "";
	for (size_t table = 0; table < 2; table++) {
		for (const struct option *option = tables[table]; option && option->name;
				option++) {
			if (!option->argument || option->optional)
				continue;
			if (option->letter)
				fprintf(out, "%s-%c", separator, option->letter), separator = " ";
			fprintf(out, "%s--%s", separator, option->name);
			separator = " ";
			if (option->former_letter)
				fprintf(out, " -%c", option->former_letter);
			if (option->former_name)
				fprintf(out, " --%s", option->former_name);
		}
	}
	fputs("'\n\t\ttwo='", out);
	separator = "";
	for (const struct option *option = tables[1]; option && option->name; option++) {
		if (option->two)
			fprintf(out, "%s--%s", separator, option->name), separator = " ";
	}
	fputs("'\n", out);
}

static const char *complete_bash_name(enum completion completion)
{
	switch (completion) {
	case COMPLETE_NONE: return "none";
	case COMPLETE_FILE: return "file";
	case COMPLETE_DIRECTORY: return "directory";
	case COMPLETE_COMMAND: return "command";
	case COMPLETE_COMMAND_OR_FILE: return "command_or_file";
	case COMPLETE_EVENT: return "event";
	case COMPLETE_CHOICE: return "choice";
	case COMPLETE_CONTEXT: return "context";
	case COMPLETE_VERB: return "verb";
	case COMPLETE_SESSION: return "sessions";
	case COMPLETE_CHANNEL: return "channels";
	case COMPLETE_PROCESS: return "processes";
	case COMPLETE_PROCESS_ID: return "pids";
	}
	return "none";
}

static void complete_bash_arguments(FILE *out, const char *verb, const struct option *option)
{
	for (; option->name; option++) {
		if (!option->argument || option->optional)
			continue;
		fprintf(out, "\t'%s --%s'", verb, option->name);
		if (option->letter)
			fprintf(out, " | '%s -%c'", verb, option->letter);
		if (option->former_letter)
			fprintf(out, " | '%s -%c'", verb, option->former_letter);
		if (option->former_name)
			fprintf(out, " | '%s --%s'", verb, option->former_name);
		fputs(") want=", out);
		if (option->choices) {
			fputs("'choice", out);
			for (size_t i = 0; option->choices[i]; i++)
				fprintf(out, " %s", option->choices[i]);
			fputs("' ;;\n", out);
		} else {
			fprintf(out, "%s ;;\n", complete_bash_name(option->completion));
		}
	}
}

static const char bash_option[] =
		"\tesac\n"
		"\t# A command of its own: from its first word on, it is completed as such.\n"
		"\tif [[ $verb == record ]]; then\n"
		"\t\tfor ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
		"\t\t\t[[ ${words[i]} == record ]] && break\n"
		"\t\tdone\n"
		"\t\tfor ((i++; i < ${#words[@]} - 1; i++)); do\n"
		"\t\t\tif [[ ${words[i]} == -- ]]; then\n"
		"\t\t\t\t((i++))\n"
		"\t\t\t\tbreak\n"
		"\t\t\tfi\n"
		"\t\t\tif [[ \" $taking \" == *\" ${words[i]} \"* ]]; then\n"
		"\t\t\t\t((i++))\n"
		"\t\t\telif [[ ${words[i]} != -* ]]; then\n"
		"\t\t\t\tbreak\n"
		"\t\t\tfi\n"
		"\t\tdone\n"
		"\t\tif ((i < ${#words[@]} - 1)); then\n"
		"\t\t\tif declare -F _command_offset >/dev/null; then\n"
		"\t\t\t\t_command_offset $i\n"
		"\t\t\telse\n"
		"\t\t\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
		"\t\t\tfi\n"
		"\t\t\treturn\n"
		"\t\tfi\n"
		"\tfi\n"
		"\tif [[ $cur == --*=* ]]; then\n"
		"\t\toption=${cur%%=*}\n"
		"\t\tprefix=$option=\n"
		"\t\tcur=${cur#*=}\n"
		"\telif ((${#words[@]} > 2)); then\n"
		"\t\toption=${words[-2]}\n"
		"\t\t# The second of two arguments.\n"
		"\t\t[[ \" $two \" == *\" ${option%%=*} \"* ]] && option=${option%%=*}\n"
		"\t\t((${#words[@]} > 3)) && [[ \" $two \" == *\" ${words[-3]} \"* ]] &&\n"
		"\t\t\toption=${words[-3]}\n"
		"\tfi\n"
		"\tcase \"$verb $option\" in\n";

static const char bash_tail[] =
		"\tesac\n"
		"\tcase $want in\n"
		"\tfile) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
		"\tdirectory) COMPREPLY=($(compgen -d -- \"$cur\")) ;;\n"
		"\tcommand) COMPREPLY=($(compgen -c -- \"$cur\") $(compgen -d -- \"$cur\")) ;;\n"
		"\tcommand_or_file) COMPREPLY=($(compgen -f -- \"$cur\") $(compgen -c -- "
		"\"$cur\") $(compgen -W \"$(_side_names sessions)\" -- \"$cur\")) ;;\n"
		"\tevent) COMPREPLY=($(compgen -W \"$(_side_events \"$verb\" | sort -u)\" -- "
		"\"$cur\")) ;;\n"
		"\tsessions | channels | processes | pids)\n"
		"\t\tCOMPREPLY=($(compgen -W \"$(_side_names \"$want\" | sort -u)\" -- \"$cur\")) ;;\n"
		"\tverb) COMPREPLY=($(compgen -W \"$verbs $topics\" -- \"$cur\")) ;;\n"
		"\tcontext)\n"
		"\t\tCOMPREPLY=($(compgen -W \"$contexts\" -- \"${cur##*,}\"))\n"
		"\t\t[[ $cur == *,* ]] && COMPREPLY=(\"${COMPREPLY[@]/#/${cur%,*},}\")\n"
		"\t\t;;\n"
		"\tchoice*) COMPREPLY=($(compgen -W \"${want#choice}\" -- \"$cur\")) ;;\n"
		"\tesac\n"
		"\t[[ ${COMPREPLY[*]} == *= ]] && ((${#COMPREPLY[@]} == 1)) && compopt -o nospace 2>/dev/null\n"
		"\t# bash treats the text before the last ':' or '=' as a word of its own.\n"
		"\tif [[ $COMP_WORDBREAKS == *:* && $cur == *:* ]]; then\n"
		"\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"${cur%:*}:\"}\")\n"
		"\tfi\n"
		"\tif [[ $prefix && $COMP_WORDBREAKS != *=* ]]; then\n"
		"\t\tCOMPREPLY=(\"${COMPREPLY[@]/#/$prefix}\")\n"
		"\tfi\n"
		"}\n"
		"\n"
		"complete -o filenames -o bashdefault -F _side side\n";

/* Prints the names of contexts, without templates such as "$app.PROVIDER:NAME". */
static void complete_context_choices(FILE *out, const char *separator)
{
	const char *name, *before = "";

	for (size_t i = 0; (name = context_name(i)); i++) {
		if (*name == '$' || name[strlen(name) - 1] == ':')
			continue;
		fprintf(out, "%s%s", before, name);
		before = separator;
	}
	for (size_t i = 0; (name = context_perf_name(i)); i++)
		fprintf(out, "%sperf:thread:%s", separator, name);
}

void complete_print_bash(FILE *out)
{
	const struct option *tables[2] = {command_common_options, NULL};

	fputs(bash_head, out);
	fputs(bash_script, out);
	for (const struct verb *verb = command_verbs; verb->name; verb++) {
		tables[1] = verb->options;
		fprintf(out, "\t%s)\n", verb->name);
		complete_bash_options(out, tables);
		fputs("\t\t;;\n", out);
	}
	fputs("\t*)\n", out);
	tables[1] = NULL;
	complete_bash_options(out, tables);
	fputs("\t\t;;\n", out);
	fputs(bash_option, out);
	for (const struct verb *verb = command_verbs; verb->name; verb++)
		complete_bash_arguments(out, verb->name, verb->options);
	fputs("\t*' --color') want='choice auto always never' ;;\n", out);
	fputs("\tesac\n", out);
	fputs("\tlocal verbs='", out);
	for (const struct verb *verb = command_verbs; verb->name; verb++)
		fprintf(out, "%s%s", verb == command_verbs ? "" : " ", verb->name);
	fputs("' contexts='", out);
	complete_context_choices(out, " ");
	fputs("' topics='", out);
	for (const struct topic *topic = command_topics; topic->name; topic++)
		fprintf(out, "%s%s", topic == command_topics ? "" : " ", topic->name);
	fputs("'\n", out);
	fputs("\tif [[ -z $want && $cur == -* ]]; then\n"
	      "\t\twant=\"choice $options\"\n"
	      "\tfi\n"
	      "\t[[ -z $want ]] && case $verb in\n"
	      "\t'') want=\"choice $verbs\" ;;\n",
			out);
	for (const struct verb *verb = command_verbs; verb->name; verb++)
		fprintf(out, "\t%s) want=%s ;;\n", verb->name,
				complete_bash_name(verb->operand_completion));
	fputs(bash_tail, out);
}

/* ---- zsh ---- */

/* Prints the first sentence, without characters that are special for _arguments. */
static void complete_zsh_text(FILE *out, const char *text)
{
	for (; *text && !(text[0] == '.' && (!text[1] || text[1] == ' ')); text++) {
		switch (*text) {
		case '[':
		case ']':
		case ':':
		case '\\': fprintf(out, "\\%c", *text); break;
		case '\'': fputs("'\\''", out); break;
		case '`': break;
		default: putc(*text, out);
		}
	}
}

static const char *complete_zsh_action(const struct option *option)
{
	switch (option->completion) {
	case COMPLETE_DIRECTORY: return "_files -/";
	case COMPLETE_FILE: return "_files";
	case COMPLETE_EVENT: return "_side_events";
	case COMPLETE_COMMAND: return "_command_names -e";
	case COMPLETE_CONTEXT: return "_side_contexts";
	case COMPLETE_SESSION: return " _side_names sessions";
	case COMPLETE_CHANNEL: return " _side_names channels";
	case COMPLETE_PROCESS: return " _side_names processes";
	case COMPLETE_PROCESS_ID: return " _side_names pids";
	case COMPLETE_NONE:
	case COMPLETE_COMMAND_OR_FILE:
	case COMPLETE_CHOICE:
	case COMPLETE_VERB: break;
	}
	return " ";
}

/* `!` marks an option that is accepted but not offered. */
static void complete_zsh_former(FILE *out, const struct option *option)
{
	const char *many = option->ordered || option->kind == OPTION_LIST ? "*" : "";

	if (option->former_letter && option->argument)
		fprintf(out, "\t\t'!%s-%c+:%s:%s' \\\n", many, option->former_letter,
				option->argument, complete_zsh_action(option));
	else if (option->former_letter)
		fprintf(out, "\t\t'!%s-%c' \\\n", many, option->former_letter);
	if (option->former_name)
		fprintf(out, "\t\t'!%s--%s=:%s:%s' \\\n", many, option->former_name,
				option->argument, complete_zsh_action(option));
}

static void complete_zsh_option(FILE *out, const struct option *option)
{
	const char *many = option->ordered || option->kind == OPTION_LIST ? "*" : "";

	fputs("\t\t", out);
	for (int letter = option->letter ? 1 : 0; letter >= 0; letter--) {
		fprintf(out, "'%s", many);
		if (!*many && option->letter)
			fprintf(out, "(-%c --%s)", option->letter, option->name);
		if (letter)
			fprintf(out, "-%c%s", option->letter, option->argument ? "+" : "");
		else
			fprintf(out, "--%s%s%s", option->name, option->argument ? "=" : "",
					option->optional ? "-" : "");
		fputs("[", out);
		complete_zsh_text(out, option->sentence);
		fputs("]", out);
		if (option->argument && option->choices) {
			fprintf(out, ":%s:(", option->argument);
			for (size_t i = 0; option->choices[i]; i++)
				fprintf(out, "%s%s", i ? " " : "", option->choices[i]);
			fputs(")", out);
		} else if (option->argument) {
			fprintf(out, "%s:%s:%s", option->optional ? ":" : "", option->argument,
					complete_zsh_action(option));
			if (option->two)
				fprintf(out, ":%s:%s", option->argument,
						complete_zsh_action(option));
		}
		fprintf(out, "'%s", letter ? " " : " \\\n");
	}
}

static const char zsh_head[] =
		"#compdef side\n"
		"# SPDX-License-Identifier: MIT\n"
		"# zsh completion for side. Made from programs/side/cli/table.c.\n"
		"\n"
		"# Events of the files that the line names; nothing is run.\n"
		"_side_events() {\n"
		"\tlocal word\n"
		"\tlocal -a events\n"
		"\tfor word in $words; do\n"
		"\t\t[[ -f $word ]] || continue\n"
		"\t\tevents+=(${(f)\"$(side list --names --libraries -q $word 2>/dev/null)\"})\n"
		"\tdone\n"
		"\t[[ $words[1] == (*-event|add-context|top) ]] &&\n"
		"\t\tevents+=(${(f)\"$(side complete events 2>/dev/null)\"})\n"
		"\t(( $#events )) && compadd -a events\n"
		"}\n"
		"\n"
		"# What is there now: sessions, channels of the session, processes, pids.\n"
		"_side_names() {\n"
		"\tlocal -a names more\n"
		"\tlocal i\n"
		"\tfor (( i = 2; i < CURRENT; i++ )); do\n"
		"\t\tcase $words[i] in\n"
		"\t\t-s|--session) (( i + 1 < CURRENT )) && more=(--session=$words[i+1]) ;;\n"
		"\t\t--session=*) more=($words[i]) ;;\n"
		"\t\tesac\n"
		"\tdone\n"
		"\tnames=(${(f)\"$(side complete $1 $more 2>/dev/null)\"})\n"
		"\t(( $#names )) && compadd -a names\n"
		"}\n"
		"\n"
		"_side_contexts() {\n"
		"\t_values -s , context $side_contexts\n"
		"}\n"
		"\n"
		"_side() {\n"
		"\tlocal curcontext=$curcontext state line\n"
		"\tlocal -a common verbs topics\n"
		"\tcommon=(\n";

static void complete_zsh_operands(FILE *out, const struct verb *verb)
{
	switch (verb->operand_completion) {
	case COMPLETE_COMMAND: fputs("\t\t'*::command:_normal'\n", out); break;
	case COMPLETE_COMMAND_OR_FILE:
		fputs("\t\t'*:program:{ _side_names sessions; _files; _command_names -e; _pids }'\n",
				out);
		break;
	case COMPLETE_DIRECTORY: fputs("\t\t'1:trace:_files -/'\n", out); break;
	case COMPLETE_VERB: fputs("\t\t'1:verb or topic:(($verbs $topics))'\n", out); break;
	case COMPLETE_SESSION: fputs("\t\t'*:session: _side_names sessions'\n", out); break;
	case COMPLETE_CHANNEL: fputs("\t\t'*:channel: _side_names channels'\n", out); break;
	case COMPLETE_EVENT: fputs("\t\t'*:event:_side_events'\n", out); break;
	case COMPLETE_CONTEXT: fputs("\t\t'*:context:_side_contexts'\n", out); break;
	case COMPLETE_NONE: fputs("\t\t'*:argument: '\n", out); break;
	case COMPLETE_PROCESS:
	case COMPLETE_PROCESS_ID:
	case COMPLETE_FILE:
	case COMPLETE_CHOICE: fputs("\t\t'*:file:_files'\n", out); break;
	}
}

void complete_print_zsh(FILE *out)
{
	fputs(zsh_head, out);
	for (const struct option *option = command_common_options; option->name; option++)
		complete_zsh_option(out, option);
	fputs("\t)\n\tlocal -a side_contexts=(", out);
	complete_context_choices(out, " ");
	fputs(")\n", out);
	fputs("\tverbs=(\n", out);
	for (const struct verb *verb = command_verbs; verb->name; verb++) {
		fprintf(out, "\t\t'%s:", verb->name);
		complete_zsh_text(out, verb->summary);
		fputs("'\n", out);
	}
	fputs("\t)\n\ttopics=(\n", out);
	for (const struct topic *topic = command_topics; topic->name; topic++) {
		fprintf(out, "\t\t'%s:", topic->name);
		complete_zsh_text(out, topic->summary);
		fputs("'\n", out);
	}
	fputs("\t)\n"
	      "\t_arguments -C -A '-*' $common '1:verb:->verb' '*::argument:->argument' && return\n"
	      "\tcase $state in\n"
	      "\tverb) _describe -t verbs verb verbs ;;\n"
	      "\targument)\n"
	      "\t\tcase $words[1] in\n",
			out);
	for (const struct verb *verb = command_verbs; verb->name; verb++) {
		if (verb->operand_completion == COMPLETE_VERB) {
			fprintf(out, "\t\t%s) _describe -t verbs verb verbs -- topics ;;\n",
					verb->name);
			continue;
		}
		fprintf(out, "\t\t%s) _arguments -s -S %s$common \\\n", verb->name,
				verb->command_follows ? "-A '-*' " : "");
		for (const struct option *option = verb->options; option->name; option++) {
			complete_zsh_option(out, option);
			complete_zsh_former(out, option);
		}
		complete_zsh_operands(out, verb);
		fputs("\t\t;;\n", out);
	}
	fputs("\t\tesac\n\t\t;;\n\tesac\n}\n\n_side \"$@\"\n", out);
}

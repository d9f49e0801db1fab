/* SPDX-License-Identifier: MIT */
/* Colours of the view, readable on dark and on light terminals. */
#ifndef SIDE_ANALYSIS_VIEW_COLOURS_H
#define SIDE_ANALYSIS_VIEW_COLOURS_H

#define VIEW_COLOUR_END "\033[0m"
#define VIEW_COLOUR_TIME "\033[2m"
#define VIEW_COLOUR_PROCESS "\033[32m"
#define VIEW_COLOUR_EVENT "\033[1;35m"
#define VIEW_COLOUR_NAME "\033[36m"
#define VIEW_COLOUR_STRING "\033[33m"
#define VIEW_COLOUR_NUMBER "\033[1m"
#define VIEW_COLOUR_LABEL "\033[1;33m"
#define VIEW_COLOUR_WORD "\033[34m"
#define VIEW_COLOUR_LOST "\033[1;31m"

#endif /* SIDE_ANALYSIS_VIEW_COLOURS_H */

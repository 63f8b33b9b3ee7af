/* cmd_verify.c - the command line of VNN-LIB 2.0, refused until it is built. */
#include <stdio.h>

#include "cli/cmd.h"

int cmd_verify(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "bpgraph: verify (VNN-LIB 2.0) is not built yet; VNN-LIB 1.0 is read by bpgraph run NET.onnx PROPERTY.vnnlib\n");
	return EXIT_ERROR;
}

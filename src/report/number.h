/* number.h - numbers as text that reads back exactly, as short as that allows. */
#ifndef BPG_NUMBER_H
#define BPG_NUMBER_H

/* Infinite: "inf" or "-inf". A float32 number is written as the double it is, so that it reads back as either. */
const char *bpg_number(double x, char buf[32]);

#endif

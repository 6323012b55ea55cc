#include "canvas.h"

#include <ctype.h>
#include <string.h>

int canvas_open(canvas *on, const char *directory)
{
    *on = (struct canvas){.gnuplot = popen("exec gnuplot", "w"), .directory = directory};
    if (!on->gnuplot) {
        perror("weir-bench: cannot run gnuplot");
        return -1;
    }
    fprintf(on->gnuplot, "set terminal svg size 800,440 dynamic background rgb 'white' font 'sans-serif,13' "
                         "noenhanced\nset grid back lt 1 lc rgb '#dddddd'\nset key outside right top vertical\n"
                         "set border 3\nset tics nomirror\n");
    return 0;
}

/* As a string of gnuplot's, where a quote is written twice. */
static void put_text(canvas *on, const char *text)
{
    fputc('\'', on->gnuplot);
    for (; *text; text++)
        fprintf(on->gnuplot, *text == '\'' ? "''" : "%c", *text);
    fputc('\'', on->gnuplot);
}

/* Letters, digits and dashes, for a name of a file. */
static void put_slug(canvas *on, const char *text)
{
    char last = '-';
    for (; *text; text++) {
        const char c = isalnum((unsigned char)*text) || *text == '.' ? (char)tolower((unsigned char)*text) : '-';
        if (c != '-' || last != '-')
            fputc(c, on->gnuplot);
        last = c;
    }
}

void canvas_picture(canvas *on, const char *file, const char *title)
{
    on->lines = on->points = 0;
    on->bars = false;
    fprintf(on->gnuplot, "unset logscale\nset rmargin -1\nset bmargin -1\nset xtics auto norotate font ',13'\n"
                         "set style data yerrorlines\nset title ");
    put_text(on, title);
    fprintf(on->gnuplot, "\nset output '");
    for (const char *c = on->directory; *c; c++)
        fprintf(on->gnuplot, *c == '\'' ? "''" : "%c", *c);
    fputc('/', on->gnuplot);
    put_slug(on, file);
    fprintf(on->gnuplot, ".svg'\n");
}

void canvas_axes(canvas *on, const char *below, unsigned log_below, const char *left, bool log_left)
{
    fprintf(on->gnuplot, "set xlabel ");
    put_text(on, below);
    fprintf(on->gnuplot, "\nset ylabel ");
    put_text(on, left);
    fprintf(on->gnuplot, "\nset logscale x %u\n%sset xrange [*:*]\nset yrange [%s:*]\nset autoscale xfix\n", log_below,
            log_left ? "set logscale y\n" : "", log_left ? "*" : "0");
    fprintf(on->gnuplot, "set format x '%s'\nset format y '%s'\nset offsets graph 0.03, graph 0.03, 0, 0\n",
            log_below == 2 ? "%.0f" : "%.0s%c", "%.0s%c");
}

void canvas_bars(canvas *on, const char *left)
{
    on->bars = true;
    fprintf(on->gnuplot, "set xlabel ''\nset ylabel ");
    put_text(on, left);
    fprintf(on->gnuplot, "\nset xrange [-0.6:*]\nset yrange [0:*]\nset format x '%%g'\nset format y '%%.0f'\n"
                         "set xtics rotate by -25 font ',10'\nset rmargin 12\nset bmargin 8\nset boxwidth 0.6\n"
                         "set style fill solid 0.5\n$line1 << END\n");
}

static void end_line(canvas *on)
{
    if (on->lines > 0)
        fprintf(on->gnuplot, "END\n");
}

void canvas_line(canvas *on, const char *label)
{
    if (on->lines == CANVAS_LINES)
        return; /* nobody could tell the lines apart */
    end_line(on);
    on->label[on->lines++] = label;
    fprintf(on->gnuplot, "$line%u << END\n", on->lines);
}

void canvas_point(canvas *on, double x, bench_summary y)
{
    fprintf(on->gnuplot, "%.10g %.10g %.10g %.10g\n", x, y.median, y.low, y.high);
}

void canvas_bar(canvas *on, const char *label, bench_summary y)
{
    fprintf(on->gnuplot, "%u %.10g \"%s\"\n", on->points++, y.median, label);
}

void canvas_done(canvas *on)
{
    if (on->bars) {
        fprintf(on->gnuplot, "END\nplot $line1 using 1:2:xtic(3) with boxes notitle\n");
    } else {
        end_line(on);
        for (unsigned i = 0; i < on->lines; i++) {
            fprintf(on->gnuplot, "%s$line%u using 1:2:3:4 lw 2 title ", i ? ", " : "plot ", i + 1);
            put_text(on, on->label[i]);
        }
        fputc('\n', on->gnuplot);
    }
    fprintf(on->gnuplot, "unset output\n");
    on->pictures++;
}

int canvas_close(canvas *on)
{
    const int status = pclose(on->gnuplot);
    if (status == 0)
        return on->pictures;
    fprintf(stderr, "weir-bench: gnuplot failed (status %d)%s\n", status >> 8,
            status >> 8 == 127 ? ": it is not installed" : "");
    return -1;
}

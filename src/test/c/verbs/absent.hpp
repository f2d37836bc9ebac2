// What a stub of the run-time table throws here.
#ifndef ABSENT_HPP
#define ABSENT_HPP

struct Absent {
    const char *name;
};

#endif

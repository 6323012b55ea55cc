/* A plug-in whose constructor has the program call weir, under the loader's lock; see copies.c. */
void call_from_constructor(void);

__attribute__((constructor)) static void start(void)
{
    call_from_constructor();
}

/* That it links is the test. */
int main(void)
{
    return 0;
}

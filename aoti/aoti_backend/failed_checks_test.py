"""Loops with checks catch what a failed check throws; others stay as they are."""

from aoti_backend.failed_checks import stop_at_failed_checks

LOOP = """\
    #pragma omp parallel
    {
        #pragma omp for
        for(int64_t x0=0; x0<8; x0+=1)
        {
            {
                BODY
            }
        }
    }
"""


def test_a_loop_without_a_check_stays():
    text = LOOP.replace("BODY", "out[x0] = 1;")
    assert stop_at_failed_checks(text) == text


def test_a_loop_with_a_check_catches_in_each_iteration():
    text = LOOP.replace("BODY", 'AOTI_TORCH_CHECK(i < 8, "index out of bounds");')
    lines = stop_at_failed_checks(text).splitlines()
    assert lines[4].strip() == "{ try {"
    assert lines[8].strip() == "} catch (const executorch_backends::FailedCheck&) {} }"
    assert lines[:4] == text.splitlines()[:4] and lines[9:] == text.splitlines()[9:]


def test_only_the_loop_that_holds_the_check_is_guarded():
    checked = LOOP.replace("BODY", 'AOTI_TORCH_CHECK(i < 8, "index out of bounds");')
    text = LOOP.replace("BODY", "out[x0] = 1;") + checked
    guarded = stop_at_failed_checks(text)
    assert guarded.count("try {") == guarded.count("catch (") == 1
    assert guarded.index("try {") > len(LOOP)

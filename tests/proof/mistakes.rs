/// A mistake to put into a copy of the core: a name, the file, the text, and what is to be in its place.
struct Mistake {
    name: &'static str,
    file: &'static str,
    text: &'static str,
    instead: &'static str,
}

const MACHINE: &str = "lease/machine.rs";
const LOOK: &str = "lease/machine/look.rs";

const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "guard_forgotten",
        file: LOOK,
        text: "end.minus_nanos(guard.within(span)).min(limit)",
        instead: "{ let _ = (guard, span); end.min(limit) }",
    },
    Mistake {
        name: "end_counted_from_the_answer",
        file: MACHINE,
        text: "self.end = call.sent.plus_nanos(by.nanos());",
        instead: "self.end = now.plus_nanos(by.nanos());",
    },
    Mistake {
        name: "release_not_waiting",
        file: LOOK,
        text: "(!matches!(self.renewal, Renewal::InFlight(_))).then_some(at)",
        instead: "Some(at)",
    },
    Mistake {
        name: "retry_without_bound",
        file: MACHINE,
        text: "Some(now.plus_nanos(pause).min(last))",
        instead: "Some(now.plus_nanos(pause))",
    },
    Mistake {
        name: "retry_at_the_last_moment",
        file: MACHINE,
        text: "if now > last || sent >= last {",
        instead: "if false {",
    },
    Mistake {
        name: "final_extension_rounded_up",
        file: LOOK,
        text: "Visibility::whole_between(now, limit)",
        instead: "Visibility::whole_between(now, limit.plus_nanos(999_999_999))",
    },
    Mistake {
        name: "delete_given_up_for_good",
        file: MACHINE,
        text: "if let Settle::GivenUp(wish @ Wish::Delete) = self.settle {",
        instead: "if let (false, Settle::GivenUp(wish @ Wish::Delete)) = (true, self.settle) {",
    },
    Mistake {
        name: "any_answer_counts",
        file: MACHINE,
        text: "filter(|_| serial == self.extension_serial())",
        instead: "filter(|_| true)",
    },
    Mistake {
        name: "answers_count_after_the_end",
        file: MACHINE,
        text: "self.end_if(now > self.held_until());",
        instead: "",
    },
    Mistake {
        name: "unknown_release_forgotten",
        file: MACHINE,
        text: "self.end = self.end.min(call.sent.plus_nanos(after.nanos()));",
        instead: "",
    },
    Mistake {
        name: "extension_during_a_delete",
        file: LOOK,
        text: "Some(Wish::Delete) => matches!(self.settle, Settle::InFlight(..)),",
        instead: "Some(Wish::Delete) => false,",
    },
    Mistake {
        name: "extension_after_a_release",
        file: LOOK,
        text: "Some(Wish::Release { .. }) => true,",
        instead: "Some(Wish::Release { .. }) => false,",
    },
    Mistake {
        name: "gap_forgotten",
        file: "clock.rs",
        text: "self.gaps = self.gaps.saturating_add(nanos(gap));",
        instead: "",
    },
    Mistake {
        name: "middle_never_comes",
        file: MACHINE,
        text: "Renewal::Middle(call.sent.plus_nanos(by.nanos() / 2))",
        instead: "Renewal::Middle(call.sent.plus_nanos(by.nanos()))",
    },
    Mistake {
        name: "never_given_up",
        file: MACHINE,
        text: "if now >= extension.call.answer_by {",
        instead: "if false {",
    },
];

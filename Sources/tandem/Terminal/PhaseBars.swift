/// A ``ProgressBar`` for each of several phases; what is left is told from the beginning of a phase, not of all.
final class PhaseBars<Phase: Equatable> {
    private let label: (Phase) -> String
    private var current: (phase: Phase, bar: ProgressBar)?

    /// Bars with a word before each.
    init(_ label: @escaping (Phase) -> String) { self.label = label }

    /// Shows so much of a phase's whole.
    func update(_ phase: Phase, _ done: UInt64, of total: UInt64) {
        if current?.phase != phase {
            end()
            current = (phase, ProgressBar(label(phase)))
        }
        current?.bar.update(done, of: total)
    }

    /// Takes the bar away.
    func end() {
        current?.bar.end()
        current = nil
    }
}

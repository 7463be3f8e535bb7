/// A ``ProgressBar`` for each of several phases; the remaining time is estimated for each phase.
final class PhaseBars<Phase: Equatable> {
    private let label: (Phase) -> String
    private var current: (phase: Phase, bar: ProgressBar)?

    /// Creates bars with a label for each phase.
    init(_ label: @escaping (Phase) -> String) { self.label = label }

    /// Shows the progress of a phase.
    func update(_ phase: Phase, _ done: UInt64, of total: UInt64) {
        if current?.phase != phase {
            end()
            current = (phase, ProgressBar(label(phase)))
        }
        current?.bar.update(done, of: total)
    }

    /// Removes the current bar.
    func end() {
        current?.bar.end()
        current = nil
    }
}

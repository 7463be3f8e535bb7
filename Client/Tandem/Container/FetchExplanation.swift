public import TandemModel
package import TandemQuery
import TandemWire

/// The plan that the daemon used for a fetch, and the amount of data read.
///
/// It prints as a tree of access paths, such as `Team: index (zone, wins), 1 range`.
public struct FetchExplanation: Sendable, CustomStringConvertible {
    /// The position at which the daemon read.
    public let position: Position
    /// The plan, as a tree in preorder: the substeps of a step follow it, one level deeper.
    package let steps: [FetchPlanStep]
    /// The requested order as text; empty if there is none, or for a count.
    package let sort: String
    /// The number of rows read to find the answer.
    public let rowsRead: Int
    /// The number of index keys and link keys that were read.
    public let keysRead: Int
    /// The number of objects that the fetch returns; for a count, the count.
    public let returned: Int
    /// The kind of answer that was requested.
    package let output: FetchOutput
    /// Whether the daemon's thread answered as soon as the request arrived.
    ///
    /// All other reads wait for a checkpoint, and are carried out on a snapshot by a reader. If the
    /// disk is full, the daemon's thread carries out the queued reads as well.
    package let isAnsweredAtOnce: Bool

    /// The plan as an indented tree, and the amount of data read in the last line.
    public var description: String {
        let rows = "\(rowsRead) \(rowsRead == 1 ? "row" : "rows")"
        let keys = "\(keysRead) \(keysRead == 1 ? "key" : "keys")"
        let read = "\(rows) and \(keys) read, \(returned) returned"
        return (plan(limits: "") + [read]).joined(separator: "\n")
    }

    /// Returns the lines of the plan, each indented by its depth; the first line is the kind of
    /// answer with `limits`.
    package func plan(limits: String) -> [String] {
        var plan = PlanText(steps)
        plan.add(output.rawValue + limits)
        if !sort.isEmpty, !(steps.first?.isOrdered ?? true) { plan.add("sorted by \(sort)") }
        plan.addPlan()
        return plan.lines
    }
}

import TandemModel
public import TandemQuery
import TandemWire

/// The plan with which the daemon carried out a fetch, and the amount of data read.
public struct FetchExplanation: Sendable {
    /// The position at which the daemon read.
    public let position: UInt64
    /// The plan, as a tree in preorder: the parts of a step follow it, one deeper than the step.
    public let steps: [FetchPlanStep]
    /// The number of rows read to find the answer.
    public let rowsRead: Int
    /// The number of keys of indexes and links that were read.
    public let keysRead: Int
    /// The number of objects that the fetch returns; for a count, the count.
    public let returned: Int
    /// The kind of answer that was asked for.
    public let output: FetchOutput
    /// Whether the daemon's thread answered as soon as the request arrived.
    ///
    /// All other reads are queued for a checkpoint and a reader, which reads a snapshot. If the
    /// disk is full, the daemon's thread carries out the queued reads as well.
    public let isAnsweredAtOnce: Bool
}

extension PersistentContainer {
    /// Carries out a fetch in the daemon, and returns its plan and the amount of data read; blocks.
    ///
    ///     let request = FetchRequest(entity: "Team", sort: ["-wins"], limit: 3)
    ///     let found = try container.explain(request)
    ///     found.steps.first?.properties       // the index
    ///
    /// No object is sent to the client, and pending edits are ignored. The plan depends on the
    /// objects in the store, so it may change as they do.
    ///
    /// - Parameters:
    ///   - request: The fetch.
    ///   - isCount: Whether to explain a count instead of a fetch of rows.
    ///   - position: A position of the journal to read at instead of now.
    /// - Returns: The plan and the amount of data read.
    /// - Throws: The errors of a fetch.
    public func explain(
        _ request: FetchRequest, isCount: Bool = false, at position: UInt64? = nil
    ) throws -> FetchExplanation {
        let fetch = Fetch(request: request, kind: isCount ? .count : .rows, at: position ?? 0)
        guard case .explained(let answer) = try connection.answer(.explain(fetch)).get() else {
            throw TandemError.unexpectedAnswer("the plan of a fetch")
        }
        return FetchExplanation(
            position: answer.position, steps: answer.steps,
            rowsRead: Int(clamping: answer.rowsRead),
            keysRead: Int(clamping: answer.keysRead), returned: Int(clamping: answer.returned),
            output: answer.output, isAnsweredAtOnce: answer.atOnce)
    }
}

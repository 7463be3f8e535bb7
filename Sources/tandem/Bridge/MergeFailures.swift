import Tandem
import TandemIO

/// Writes a `failure` event if a context can't merge saves of other processes.
///
/// The event is written once per position and error code. It has the key `context` in place of
/// `controller`. Lists keep their last sections and are updated by the next merge that succeeds.
final class MergeFailures: Sendable {
    private struct Report: Equatable {
        var position: UInt64
        var code: TandemError.Code
    }

    private let output: BridgeOutput
    /// The last report of each context.
    private let reports = Locked<[String: Report]>([:])

    init(_ output: BridgeOutput) { self.output = output }

    /// Reports that a context can't merge saves after a position.
    func report(_ error: TandemError, of context: String, at position: UInt64) {
        let report = Report(position: position, code: error.code)
        let isNew = reports.withLock { $0.updateValue(report, forKey: context) != report }
        guard isNew else { return }
        output.write([
            "event": .string("failure"), "context": .string(context),
            "position": JSON(number: position), "error": BridgeErrors.json(error),
        ])
    }
}

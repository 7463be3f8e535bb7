import Tandem
import TandemWire

/// The human-readable output of `tandem vacuum`.
enum VacuumText {
    /// Returns a line about the removed and kept segments, and a line for each reader that needs
    /// some of the selected segments.
    static func lines(_ answer: VacuumAnswer, isDone: Bool, isForced: Bool) -> [String] {
        let kept = amount(answer.keptSegments, answer.keptBytes)
        let verb = isDone ? "removed" : "would remove"
        let first =
            answer.segments == 0
            ? "nothing to remove: \(kept) \(stays(answer.keptSegments))"
            : "\(verb) \(amount(answer.segments, answer.bytes)), positions \(answer.first) to "
                + "\(answer.trimBelow - 1); \(kept) \(stays(answer.keptSegments))"
        return [first] + (isDone ? [] : answer.holders.map { line($0, isForced) })
    }

    /// Returns the question to ask before the removal.
    static func question(_ answer: VacuumAnswer, isForced: Bool) -> String {
        let expired =
            isForced && !answer.holders.isEmpty
            ? ", and expire " + answer.holders.map(name).joined(separator: ", ") : ""
        return "remove positions \(answer.first) to \(answer.trimBelow - 1) permanently\(expired)?"
    }

    private static func amount(_ segments: UInt32, _ bytes: UInt64) -> String {
        "\(segments) segment\(segments == 1 ? "" : "s") (\(ByteText.text(bytes)))"
    }

    private static func stays(_ segments: UInt32) -> String { segments == 1 ? "stays" : "stay" }

    private static func name(_ holder: VacuumAnswer.RetentionHolder) -> String {
        switch holder.kind {
        case .consumer: "consumer \(holder.name)"
        case .client: "client \(holder.name)"
        case .pin: "a pin of client \(holder.name)"
        }
    }

    private static func line(_ holder: VacuumAnswer.RetentionHolder, _ isForced: Bool) -> String {
        "\(name(holder)) needs positions from \(holder.position + 1), "
            + "\(ByteText.text(holder.bytes)) of the selected segments: "
            + (isForced ? "it would expire" : "these are kept")
    }
}

extension VacuumAnswer {
    /// Returns the answer as a JSON object for scripts.
    func json(isDryRun: Bool) -> JSON {
        func number(_ value: UInt64) -> JSON { .int(Int64(clamping: value)) }
        return .object([
            "dryRun": .bool(isDryRun), "first": number(first), "trimBelow": number(trimBelow),
            "segments": .int(Int64(segments)), "bytes": number(bytes),
            "keptSegments": .int(Int64(keptSegments)), "keptBytes": number(keptBytes),
            "holders": .array(
                holders.map { holder in
                    .object([
                        "kind": .string("\(holder.kind)"), "name": .string(holder.name),
                        "position": number(holder.position), "bytes": number(holder.bytes),
                    ])
                }),
        ])
    }
}

import TandemModel
import TandemQuery
import TandemWire

@testable import Tandem

/// A list that records its context's calls, and the order of the calls to all participants.
final class Recorder: ListParticipant {
    let name: String
    let journal: Journal
    var wantsVerdicts: Bool
    var onDeliver: () throws -> Void = {}
    private(set) var groups: [MergedGroup] = []
    private(set) var verdicts: [[Verdict]?] = []

    final class Journal { var lines: [String] = [] }

    init(_ name: String, _ journal: Journal, wantsVerdicts: Bool = false) {
        self.name = name
        self.journal = journal
        self.wantsVerdicts = wantsVerdicts
    }

    var verdictItem: VerdictItem? {
        guard wantsVerdicts else { return nil }
        return VerdictItem(
            request: FetchDescriptor(entity: "Content"), sectionKeyPath: nil, refreshKeyPaths: [])
    }

    func needs(_ group: MergedGroup) -> Bool { wantsVerdicts }

    func step(_ group: MergedGroup, _ verdicts: [Verdict]?) {
        groups.append(group)
        self.verdicts.append(verdicts)
        journal.lines.append("\(name) steps \(group.from)-\(group.to)")
    }

    func deliver() {
        journal.lines.append("\(name) delivers")
        try? onDeliver()
    }

    // MARK: Not recorded

    var isWaiting: Bool { false }
    var needsRefill: Bool { false }
    var isOverlayStale: Bool { false }

    func refill(for group: MergedGroup, _ verdicts: [Verdict]?) -> Fetch? { nil }

    func receive(_ result: Result<ListAnswer, TandemError>, for fetch: Fetch) {}

    func resetAfterGap() {}

    func objects(around object: ObjectReference, _ count: Int) -> [ObjectReference] { [] }

    func invalidate(_ object: ObjectReference) {}

    func willDiscardData() {}

    func stepOverlay() -> Bool { false }

    func didEndConnection(_ error: TandemError) {}
}

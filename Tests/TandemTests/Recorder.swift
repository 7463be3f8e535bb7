import TandemModel
import TandemQuery
import TandemWire

@testable import Tandem

/// A participant that records its context's calls, and the order of the calls to all participants.
final class Recorder: MergeParticipant {
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
            request: FetchRequest(entity: "Content"), sectionKeyPath: nil, refreshKeyPaths: [])
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
}

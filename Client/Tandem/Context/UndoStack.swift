import TandemModel

/// Groups of edits, each of which is undone and redone as one step.
///
/// An entry contains the earlier edits of an object. Undoing a group swaps them with the current
/// edits, which produces the group to redo, and vice versa.
final class UndoStack {
    /// The earlier edits of an object; the context keeps the object's record while there is an
    /// entry.
    final class Entry {
        let record: ObjectRecord
        fileprivate(set) var edits: Edits
        let isMissing: Bool

        init(_ record: ObjectRecord) {
            self.record = record
            edits = record.pending
            isMissing = record.isMissing
            record.countUndoEntry(1)
        }

        deinit { record.countUndoEntry(-1) }
    }

    /// Whether edits are recorded.
    var isEnabled = false
    /// The maximum number of groups (``ClientLimits/undoSteps``); the oldest are removed first.
    private let limit: Int
    private(set) var undone: [[Entry]] = []
    private(set) var done: [[Entry]] = []
    private var open: [Entry] = []
    private var depth = 0

    init(limit: Int) { self.limit = max(1, limit) }

    var canUndo: Bool { !done.isEmpty || !open.isEmpty }
    var canRedo: Bool { !undone.isEmpty }

    func begin() { depth += 1 }

    func end() {
        require(depth > 0, "An undo group must begin before it ends.")
        depth -= 1
        if depth == 0 { close() }
    }

    /// Records the state of an object before an edit.
    func register(_ record: ObjectRecord) {
        guard isEnabled else { return }
        open.append(Entry(record))
        undone.removeAll()
        if depth == 0 { close() }
    }

    private func close() {
        guard !open.isEmpty else { return }
        done.append(open)
        open.removeAll()
        if done.count > limit { done.removeFirst(done.count - limit) }
    }

    /// Removes and returns the last group.
    ///
    /// The caller swaps its edits with the current ones, and pushes the inverse group to the other
    /// stack with ``push(_:isUndo:)``.
    func pop(isUndo: Bool) -> [Entry]? {
        close()
        return isUndo ? done.popLast() : undone.popLast()
    }

    func push(_ group: [Entry], isUndo: Bool) {
        if isUndo { undone.append(group) } else { done.append(group) }
    }

    /// Removes the entries of an object that no longer exists.
    func forget(_ record: ObjectRecord) {
        guard canUndo || canRedo else { return }
        func without(_ groups: [[Entry]]) -> [[Entry]] {
            groups.map { $0.filter { $0.record !== record } }.filter { !$0.isEmpty }
        }
        done = without(done)
        undone = without(undone)
        open.removeAll { $0.record === record }
    }

    /// Replaces a reference in all relationships.
    func replace(_ old: ObjectReference, by new: ObjectReference) {
        for entry in (done + undone + [open]).joined() { entry.edits.replace(old, by: new) }
    }

    func clear() {
        // If undo is disabled, nothing was recorded.
        guard isEnabled else { return }
        done.removeAll()
        undone.removeAll()
        open.removeAll()
    }
}

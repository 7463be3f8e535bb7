import Tandem

/// Listens to all saves and notes whether each follows the one before.
///
/// There is one entity and all of it is followed, so the positions of the saves have no holes.
@MainActor final class GapWatch {
    private var first: UInt64?
    private var last: UInt64 = 0
    private var gap: String?
    private var goal: UInt64?
    private var waiter: CheckedContinuation<Void, Never>?
    private var task: Task<Void, Never>?

    /// Begins to listen; what is saved from now on is heard of.
    init(_ container: PersistentContainer) async throws {
        let saves = container.didSave
        await withCheckedContinuation { started in
            task = Task { [weak self] in
                var iterator = saves.makeAsyncIterator()
                started.resume()
                do {
                    while let payload = try await iterator.next() { self?.heard(payload.position) }
                    self?.stop("the saves ended")
                } catch {
                    self?.stop("\(error)")
                }
            }
        }
        last = try await container.follow(["Team"]).number
    }

    deinit { task?.cancel() }

    /// Returns once everything up to a position was heard of; throws when something was missing.
    func finish(at position: Position) async throws {
        goal = position.number
        if last < position.number && gap == nil {
            await withCheckedContinuation { waiter = $0 }
        }
        if let gap { throw TandemError(.storage, "gap in the saves: \(gap)") }
    }

    private func heard(_ position: Position) {
        // What was on its way when following began may come twice in words, not in effect.
        guard position.number > last else { return }
        if position.number != last + 1 && gap == nil {
            gap = "\(position.number) follows \(last)"
        }
        last = position.number
        if gap != nil || last >= goal ?? .max { wake() }
    }

    private func stop(_ reason: String) {
        if gap == nil { gap = "\(reason) at position \(last)" }
        wake()
    }

    private func wake() {
        waiter?.resume()
        waiter = nil
    }
}

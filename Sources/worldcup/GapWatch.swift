import Tandem

/// Observes all saves, and checks that their positions have no gaps.
///
/// The store has only one entity, so a process that follows it receives every save.
@MainActor final class GapWatch {
    private var first: UInt64?
    private var last: UInt64 = 0
    private var gap: String?
    private var goal: UInt64?
    private var waiter: CheckedContinuation<Void, Never>?
    private var task: Task<Void, Never>?

    /// Subscribes to saves; every save after the initialiser has returned is checked.
    init(_ container: PersistentContainer) async throws {
        let saves = container.didSave
        await withCheckedContinuation { started in
            task = Task { [weak self] in
                var iterator = saves.makeAsyncIterator()
                started.resume()
                do {
                    while let payload = try await iterator.next() {
                        self?.didReceive(payload.position)
                    }
                    self?.stop("the saves ended")
                } catch {
                    self?.stop("\(error)")
                }
            }
        }
        last = try await container.follow(["Team"]).number
    }

    deinit { task?.cancel() }

    /// Waits until all saves up to a position have been reported; throws if one was missing.
    func finish(at position: Position) async throws {
        goal = position.number
        if last < position.number && gap == nil {
            await withCheckedContinuation { waiter = $0 }
        }
        if let gap { throw TandemError(.storage, "gap in the saves: \(gap)") }
    }

    private func didReceive(_ position: Position) {
        // Saves up to the position at which the subscription began are not checked.
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

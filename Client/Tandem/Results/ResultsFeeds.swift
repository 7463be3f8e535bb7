import DequeModule
import TandemModel
import TandemResults

/// The behaviour of a sequence of changes if its reader lags.
public enum ResultsPolicy: Hashable, Sendable {
    /// Keeps every unread change, up to a limit, beyond which the sequence ends with
    /// `limitExceeded`.
    case every(limit: Int)
    /// Merges unread changes into one.
    ///
    /// While a change is unread, the list that the reader knows is kept, and each further merge
    /// compares the current list with that list: O(n), on the context's actor. For a long list that
    /// changes often, signals are much cheaper (``FetchedResultsController/signals()``).
    case latest

    /// Keeps up to 1,024 unread changes.
    public static let every = ResultsPolicy.every(limit: 1_024)
}

/// A change that the reader has not read yet.
struct UnreadChange: Sendable {
    var change: ControllerChange
    /// The list before the change, if later changes are merged into it.
    var base: SectionedList?
}

/// The sequences to which a controller publishes; bound to its actor.
final class ResultsFeeds {
    private typealias ChangeFeeds = FeedList<UnreadChange, any Error>

    private var signals = SignalFeeds()
    private var changes: [ResultsPolicy: ChangeFeeds] = [:]

    deinit {
        for feed in changes.values.lazy.flatMap(\.open) { feed.finish() }
    }

    /// Returns a sequence of the changes from now on.
    func makeChanges(
        _ policy: ResultsPolicy
    ) -> some AsyncSequence<ControllerChange, any Error> & Sendable {
        FeedSequence(feed: changes[policy, default: ChangeFeeds()].make()).map { $0.change }
    }

    /// Returns a sequence of signals from now on.
    func makeSignals() -> FeedSequence<Void, Never> { signals.make() }

    /// Whether there is no reader.
    var isEmpty: Bool { signals.isEmpty && changes.values.allSatisfy(\.isEmpty) }

    /// Whether any reader may need the next change merged with later changes.
    var needsOldList: Bool { changes[.latest]?.open.contains(where: \.isFullyRead) ?? false }

    func publish(_ change: ControllerChange, from old: SectionedList?, to new: SectionedList) {
        signals.send()
        for (policy, feeds) in changes {
            for feed in feeds.open {
                switch policy {
                case .every(let limit):
                    feed.publish(
                        UnreadChange(change: change), limit: limit,
                        overflow: TandemError(
                            .limitExceeded,
                            "the reader was ended, because \(limit) changes were unread; fetch again"
                        ))
                case .latest:
                    feed.publish(UnreadChange(change: change, base: old)) { unread in
                        Self.merge(change, from: old, to: new, into: &unread)
                        return nil
                    }
                }
            }
        }
    }

    /// Merges a later change into the last unread change.
    ///
    /// Appends the later change if there is no unread change, or if the list before the last one
    /// was not kept.
    private static func merge(
        _ change: ControllerChange, from old: SectionedList?, to new: SectionedList,
        into unread: inout Deque<UnreadChange>
    ) {
        guard let last = unread.last, let base = last.base else {
            unread.append(UnreadChange(change: change, base: old))
            return
        }
        unread.removeLast()
        let changed = last.change.change.parts.merging(change.change.parts) { $0.union($1) }
        let merged = change.replacing(
            change: new.change(from: base, changed: changed) ?? .none, since: last.change)
        if merged.isReportable { unread.append(UnreadChange(change: merged, base: base)) }
    }
}

/// The readers of signals that something changed; a signal carries no value.
///
/// Unread signals are merged into one.
final class SignalFeeds {
    private var feeds = FeedList<Void, Never>()

    deinit { for feed in feeds.open { feed.finish() } }

    /// Whether there is no reader.
    var isEmpty: Bool { feeds.isEmpty }

    /// Returns a sequence of the signals from now on.
    func make() -> FeedSequence<Void, Never> { FeedSequence(feed: feeds.make()) }

    /// Signals all readers.
    func send() {
        for feed in feeds.open {
            feed.publish(()) { unread in
                if unread.isEmpty { unread.append(()) }
                return nil
            }
        }
    }
}

extension ResultsChange {
    /// The objects that are in the list after the change, with their reasons.
    fileprivate var parts: [ObjectNumber: ChangeReason] {
        var parts: [ObjectNumber: ChangeReason] = [:]
        for object in objects where object.to != nil {
            parts[object.number] = reasons[object.number] ?? []
        }
        return parts
    }
}

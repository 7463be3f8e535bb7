import TandemModel
import TandemStore

/// Errors of the store that concern only the client of a request.
extension StoreError {
    /// Returns the error that a client receives; nil if the error does not concern clients.
    func clientError(_ limits: DaemonLimits, _ counts: LimitCounters) -> TandemError? {
        switch code {
        case .tooMuch: counts.refusal(.requestReads, limits, message)
        case .tooMuchOfObject: counts.refusal(.objectReads, limits, message)
        case .tooLarge: counts.refusal(.readBytes, limits, message)
        case .keysTooLong: TandemError(.limitExceeded, message)
        case .damaged:
            TandemError(.storage, "\(message); stop the daemon and run `tandem check --repair`")
        default: nil
        }
    }

    /// Runs `body`, and maps store errors that concern only the client to the client's error.
    static func mappingReadErrors<Result>(
        _ committer: Committer, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            throw error.clientError(committer.limits, committer.limitCounters) ?? error
        }
    }

    /// Runs `body`, which reads the store to plan a request, and maps damage to the client's error.
    ///
    /// As a result, only that request fails, not those of other clients.
    static func mappingDamage<Result>(
        _ committer: Committer, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            guard error.code == .damaged,
                let clientError = error.clientError(committer.limits, committer.limitCounters)
            else { throw error }
            throw clientError
        }
    }

    /// Runs `body`, and maps damage to an error of the current request, so that other clients are
    /// unaffected.
    static func reportingDamage<Result>(
        _ body: () throws(StoreError) -> Result
    ) throws -> Result {
        do throws(StoreError) {
            return try body()
        } catch {
            guard error.code == .damaged else { throw error }
            throw TandemError(
                .storage, "\(error.message); stop the daemon and run `tandem check --repair`")
        }
    }
}

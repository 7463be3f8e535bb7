import ArgumentParser

/// The options to count or draw transactions instead of printing them.
struct LogPictureOptions: ParsableArguments {
    @Option(
        name: .customLong("stats"), defaultAsFlag: StatisticArgument.unnamed, parsing: .next,
        help: ArgumentHelp("Counts by entity, author, property or size.", valueName: "by"),
        completion: .list(Statistic.allCases.map(\.rawValue)))
    var statistic: StatisticArgument?

    @Option(
        defaultAsFlag: PlotTarget.terminal, parsing: .next,
        help: ArgumentHelp("Draws them over time; FILE.svg or here.", valueName: "file"))
    var plot: PlotTarget?

    /// Whether transactions are counted or drawn.
    var isAny: Bool { statistic != nil || plot != nil }

    func validate() throws {
        guard statistic == nil || plot == nil else {
            throw ValidationError("--stats and --plot exclude each other")
        }
        if let statistic, statistic.statistic == nil {
            throw ValidationError(
                "`\(statistic.name)` is nothing to count by; give --stats="
                    + Statistic.allCases.map(\.rawValue).joined(separator: ", "))
        }
        // Otherwise a file of another kind, or even a device, would be replaced.
        if case .file(let path)? = plot, !path.hasSuffix(".svg") {
            throw ValidationError(
                "`\(path)` does not end in .svg; give --plot FILE.svg, or --plot for the terminal")
        }
    }
}

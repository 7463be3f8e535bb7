import ArgumentParser

/// The options that count or draw transactions instead of printing them.
struct LogChartOptions: ParsableArguments {
    @Option(
        name: .customLong("stats"), defaultAsFlag: StatisticArgument.unnamed, parsing: .next,
        help: ArgumentHelp("Count by entity, author, property or size.", valueName: "by"),
        completion: .list(Statistic.allCases.map(\.rawValue)))
    var statistic: StatisticArgument?

    @Option(
        defaultAsFlag: PlotTarget.terminal, parsing: .next,
        help: ArgumentHelp("Draw a timeline, on the terminal or in FILE.svg.", valueName: "file"))
    var plot: PlotTarget?

    /// Whether transactions are counted or drawn.
    var isAny: Bool { statistic != nil || plot != nil }

    func validate() throws {
        guard statistic == nil || plot == nil else {
            throw ValidationError("--stats and --plot cannot be combined")
        }
        if let statistic, statistic.statistic == nil {
            throw ValidationError(
                "cannot count by `\(statistic.name)`; give --stats="
                    + Statistic.allCases.map(\.rawValue).joined(separator: ", "))
        }
        // Without this check, a file of another kind or a device could be replaced.
        if case .file(let path)? = plot, !path.hasSuffix(".svg") {
            throw ValidationError(
                "`\(path)` does not end in .svg; give --plot FILE.svg, or --plot for the terminal")
        }
    }
}

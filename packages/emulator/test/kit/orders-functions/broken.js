throw new Error('no setting');
